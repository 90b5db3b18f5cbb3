// One action on many runs: on those that are selected, or on all that fit the filters.

import type { TargetedSubmitEvent, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

import { curlCommandOf, quoted } from "../lib/action";
import { go, to } from "../lib/address";
import { call, Problem, type Reply } from "../lib/call";
import { reloadAll } from "../lib/live";
import type { Row } from "../lib/runs";
import { may, scope } from "../lib/session";
import { tell } from "../lib/toasts";
import { count, plural } from "../lib/words";
import { Copy } from "./basics";
import { Dialog } from "./dialog";
import { Icon } from "./icon";
import { ProblemFacts } from "./show";
import { ENDED } from "./state";

type Verb = "cancel" | "replay";

interface Props {
  rows: Row[];
  done(): void;
  selected?: Set<string>;
  filter?: Record<string, string>;
  total?: string;
}

/** What makes sense for runs in these states. */
function verbs(states: string | undefined): Verb[] {
  const list = states?.split(",") ?? [];
  if (!list.length) return ["cancel", "replay"];
  return [...(list.some((state) => !ENDED.has(state)) ? (["cancel"] as const) : []), ...(list.some((state) => ENDED.has(state)) ? (["replay"] as const) : [])];
}

/** Above this many, the count has to be typed. */
const TYPED_ABOVE = 100;

export function Bulk({ rows, done, selected, filter, total }: Props): VNode {
  const [verb, setVerb] = useState<Verb | null>(null);
  const isAllowed = may("operator");
  const close = (isDone: boolean): void => {
    setVerb(null);
    if (isDone) done();
  };
  return (
    <div class={selected ? "bulk" : "bulk quiet"}>
      {selected ? <b>{plural(selected.size, "run")} selected</b> : <span class="faint">All that fit:</span>}
      {verbs(filter?.state).map((one) => (
        <button key={one} type="button" class={`button slim ${one === "cancel" ? "danger" : ""}`} disabled={!isAllowed} title={isAllowed ? "" : "Needs the role operator."} onClick={() => setVerb(one)}>
          <Icon name={one === "cancel" ? "slash" : "retry"} /> {one === "cancel" ? "Cancel" : "Replay"} {selected ? "" : total}
        </button>
      ))}
      {selected && (
        <button type="button" class="link" onClick={done}>
          Clear
        </button>
      )}
      {verb && selected && <OfSelected verb={verb} ids={[...selected]} rows={rows} close={close} />}
      {verb && filter && <OfFilter verb={verb} filter={filter} close={close} />}
    </div>
  );
}

interface OneResult {
  id: string;
  problem: Problem | null;
}

/** A call for each; what was refused is listed. */
function OfSelected({ verb, ids, rows, close }: { verb: Verb; ids: string[]; rows: Row[]; close(isDone: boolean): void }): VNode {
  const [results, setResults] = useState<OneResult[]>([]);
  const [isRunning, setRunning] = useState(false);
  const kinds = new Set(rows.filter((row) => ids.includes(row.id)).map((row) => row.kind));
  const skipped = rows.filter((row) => ids.includes(row.id) && ENDED.has(row.state) === (verb === "cancel")).length;
  const run = async (reason: string): Promise<void> => {
    setRunning(true);
    const found: OneResult[] = [];
    for (const id of ids) {
      let problem: Problem | null = null;
      try {
        await call(verb === "cancel" ? "POST /v1/executions/{id}/cancel" : "POST /v1/executions/{id}/replay", { path: { id }, query: { tenant: scope.value }, body: { reason } });
      } catch (error) {
        problem = error instanceof Problem ? error : new Problem(0, "page_failed", String(error), "");
      }
      found.push({ id, problem });
      setResults([...found]);
    }
    setRunning(false);
    reloadAll();
    if (found.every((one) => !one.problem)) {
      tell(`${verb === "cancel" ? "Cancelled" : "Replayed"} ${plural(found.length, "run")}.`, "good");
      close(true);
    }
  };
  const refused = results.filter((one) => one.problem);
  return (
    <Asked
      title={`${verb === "cancel" ? "Cancel" : "Replay"} ${plural(ids.length, "selected run")}`}
      about={`${[...kinds].slice(0, 4).join(", ")}${kinds.size > 4 ? " and others" : ""}. ${skipped ? `${plural(skipped, "of them has", "of them have")} ${verb === "cancel" ? "ended already and will be refused" : "not ended and will be refused"}.` : ""}`}
      verb={verb}
      expected={ids.length}
      isBusy={isRunning}
      run={run}
      close={() => close(results.length > 0)}
      command={(reason) => ids.slice(0, 3).map((id) => `holdfast ${verb} ${quoted(id)} --reason ${quoted(reason)}`).join("\n") + (ids.length > 3 ? "\n…" : "")}
    >
      {results.length > 0 && (
        <p role="status">
          {count(results.length)} of {count(ids.length)} done{refused.length ? `, ${count(refused.length)} refused` : ""}
        </p>
      )}
      {refused.length > 0 && (
        <ul class="refused">
          {refused.slice(0, 20).map((one) => (
            <li key={one.id}>
              <code>{one.id}</code> {one.problem!.message}
            </li>
          ))}
        </ul>
      )}
    </Asked>
  );
}

type Preview = Reply<"POST /v1/bulk">;

/** The server selects, and does it as an execution of its own: it continues without this page. */
function OfFilter({ verb, filter, close }: { verb: Verb; filter: Record<string, string>; close(isDone: boolean): void }): VNode {
  const [preview, setPreview] = useState<Preview | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const body = { action: verb, filter: { ...filter, ...(scope.value ? { tenant: scope.value } : {}) } };
  const send = async (more: { reason: string; dry_run?: boolean; expected?: number }): Promise<Preview | null> => {
    setBusy(true);
    try {
      return (await call("POST /v1/bulk", { body: { ...body, ...more } as never })) as Preview;
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, "page_failed", String(error), ""));
      return null;
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    void send({ reason: "", dry_run: true }).then(setPreview);
  }, []);
  const run = async (reason: string): Promise<void> => {
    setProblem(null);
    const started = await send({ reason, ...(preview?.exact === false ? {} : { expected: preview?.count ?? 0 }) });
    if (!started?.execution) return;
    tell(`Started: ${verb} ${plural(started.count, "run")}.`, "good");
    close(true);
    go(to(["runs", started.execution]));
  };
  return (
    <Asked
      title={preview ? `${verb === "cancel" ? "Cancel" : "Replay"} ${preview.text ?? count(preview.count)} ${preview.count === 1 ? "run" : "runs"}` : "Counting …"}
      about={`Those that fit ${Object.entries(filter).map(([name, value]) => `${name}:${value}`).join(" ")} now. The server does it as a run of its own, with a result for each; you may close this page.`}
      verb={verb}
      expected={preview?.count ?? null}
      isBusy={isBusy}
      run={run}
      close={() => close(false)}
      command={(reason) => curlCommandOf("POST", "POST /v1/bulk", JSON.stringify({ ...body, reason }))}
    >
      {problem && (
        <div class="problem" role="alert">
          {problem.message}
          <ProblemFacts problem={problem} />
        </div>
      )}
    </Asked>
  );
}

interface AskedProps {
  title: string;
  about: string;
  verb: Verb;
  expected: number | null;
  isBusy: boolean;
  run(reason: string): Promise<void>;
  close(): void;
  command(reason: string): string;
  children: preact.ComponentChildren;
}

function Asked({ title, about, verb, expected, isBusy, run, close, command, children }: AskedProps): VNode {
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const mustType = expected !== null && expected > TYPED_ABOVE;
  const isReady = expected !== null && expected > 0 && !isBusy && (!mustType || typed === String(expected));
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (isReady) void run(reason);
  };
  return (
    <Dialog title={title} close={close}>
      <form onSubmit={submit} noValidate>
        <p class="about">{about}</p>
        <label class="field">
          <span>Reason</span>
          <input value={reason} onInput={(event) => setReason(event.currentTarget.value)} autocomplete="off" />
        </label>
        {mustType && (
          <label class="field">
            <span>
              Type <b>{expected}</b> to confirm
            </span>
            <input value={typed} inputMode="numeric" onInput={(event) => setTyped(event.currentTarget.value)} autocomplete="off" />
          </label>
        )}
        {children}
        <details class="commands">
          <summary>The same from a terminal</summary>
          <div class="command">
            <pre>{command(reason)}</pre>
            <Copy text={command(reason)} label="Copy command" />
          </div>
        </details>
        <footer>
          <button type="button" class="button" onClick={close}>
            Back
          </button>
          <button type="submit" class={`button ${verb === "cancel" ? "danger-fill" : "primary"}`} disabled={!isReady}>
            {verb === "cancel" ? "Cancel" : "Replay"} {expected === null ? "" : count(expected)}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
