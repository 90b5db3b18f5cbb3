// One action on the runs that are selected, with a call for each; or on all that match, by the server.

import type { TargetedSubmitEvent, VNode } from "preact";
import { useState } from "preact/hooks";

import { quoted } from "../lib/action";
import { askForAll, LABELS, type Verb as AnyVerb } from "../lib/bulk_actions";
import { call, Problem } from "../lib/call";
import { reloadAll } from "../lib/live";
import type { Row } from "../lib/runs";
import { may, oneTenant, scope } from "../lib/session";
import { tell } from "../lib/toasts";
import { count, plural } from "../lib/words";
import { Copy } from "./basics";
import { Dialog } from "./dialog";
import { Icon } from "./icon";
import { ENDED } from "./state";

type Verb = "cancel" | "replay";

interface Props {
  rows: Row[];
  done(): void;
  selected: Set<string>;
}

/** Above this many, the count has to be typed. */
const TYPED_ABOVE = 100;

export function Bulk({ rows, done, selected }: Props): VNode {
  const [verb, setVerb] = useState<Verb | null>(null);
  const isAllowed = may("operator");
  const close = (isDone: boolean): void => {
    setVerb(null);
    if (isDone) done();
  };
  return (
    <div class="bulk">
      <b>{plural(selected.size, "run")} selected</b>
      {(["cancel", "replay"] as const).map((one) => (
        <button key={one} type="button" class={`button slim ${one === "cancel" ? "danger" : ""}`} disabled={!isAllowed} title={isAllowed ? "" : "Needs the role operator."} onClick={() => setVerb(one)}>
          <Icon name={one === "cancel" ? "slash" : "retry"} /> {one === "cancel" ? "Cancel" : "Replay"}
        </button>
      ))}
      <button type="button" class="link" onClick={done}>Clear</button>
      {verb && <OfSelected verb={verb} ids={[...selected]} rows={rows} close={close} />}
    </div>
  );
}

/** What can be done to every run that matches, loaded or not. */
export function AllMatching({ total }: { total: string }): VNode {
  const missing = !may("operator") ? "Needs the role operator." : oneTenant() === null ? "Choose one tenant first, at the foot of the sidebar." : "";
  return (
    <details class="menu-box up">
      <summary class="link">All {total} that match …</summary>
      <div class="menu-list">
        {(Object.keys(LABELS) as AnyVerb[]).map((verb) => (
          <button key={verb} type="button" class="link" disabled={missing !== ""} title={missing} onClick={() => void askForAll(verb)}>
            {LABELS[verb]} …
          </button>
        ))}
      </div>
    </details>
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
        <p role="status">{count(results.length)} of {count(ids.length)} done{refused.length ? `, ${count(refused.length)} refused` : ""}</p>
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

interface AskedProps {
  title: string;
  about: string;
  verb: Verb;
  expected: number;
  isBusy: boolean;
  run(reason: string): Promise<void>;
  close(): void;
  command(reason: string): string;
  children: preact.ComponentChildren;
}

function Asked({ title, about, verb, expected, isBusy, run, close, command, children }: AskedProps): VNode {
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const mustType = expected > TYPED_ABOVE;
  const isReady = !isBusy && (!mustType || typed === String(expected));
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
            <span>Type <b>{expected}</b> to confirm</span>
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
          <button type="button" class="button" onClick={close}>Back</button>
          <button type="submit" class={`button ${verb === "cancel" ? "danger-fill" : "primary"}`} disabled={!isReady}>
            {verb === "cancel" ? "Cancel" : "Replay"} {count(expected)}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
