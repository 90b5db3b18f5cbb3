// A run: errors first, then why it waits, then its life on one time axis, with the logs beside it.

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { ExecutionView } from "../api/schemas";
import { pageOf, param, to } from "../lib/address";
import { addressOf, call, payload, Problem, type Reply } from "../lib/call";
import { useLoad } from "../lib/load";
import { runActions } from "../lib/run_actions";
import { scope, seesPayloads } from "../lib/session";
import { soft } from "../lib/soft";
import { middle, phrase } from "../lib/words";
import { Button, Card, Facts, Id, Span, Tabs, Tags, Time } from "../parts/basics";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { Payload } from "../parts/json";
import { Frames, Logs } from "../parts/logs";
import { seen } from "../parts/palette";
import { Show } from "../parts/show";
import { ENDED, State } from "../parts/state";
import { Timeline } from "../parts/timeline";
import { grant, Spend } from "../parts/spend";
import { Attempts, Children, Compare, History, Steps, Waits } from "./run_parts";

interface Facts_ {
  run: ExecutionView;
  explain: Reply<"GET /v1/executions/{id}/explain">;
  timeline: Reply<"GET /v1/executions/{id}/timeline"> | null;
  steps: Reply<"GET /v1/executions/{id}/steps">["items"];
}

export function Run({ id }: { id: string }): VNode {
  const query = { tenant: scope.value };
  const facts = useLoad<Facts_>(
    async (signal) => {
      const [run, explain, timeline, steps] = await Promise.all([
        call("GET /v1/executions/{id}", { path: { id }, query, signal }),
        call("GET /v1/executions/{id}/explain", { path: { id }, query, signal }),
        soft(call("GET /v1/executions/{id}/timeline", { path: { id }, query, signal })),
        soft(call("GET /v1/executions/{id}/steps", { path: { id }, query: { ...query, limit: 500 }, signal })),
      ]);
      return { run, explain, timeline, steps: steps?.items ?? [] } as Facts_;
    },
    [id, scope.value],
    { when: (change) => change.data.execution === id, every: 5_000 },
  );
  return <Show of={facts}>{(data) => <Found facts={data} />}</Show>;
}

function Found({ facts }: { facts: Facts_ }): VNode {
  const { run, explain, timeline, steps } = facts;
  useEffect(() => seen(`${run.kind} ${run.id}`, to(["runs", run.id])), [run.id]);
  return (
    <>
      <Head
        up={{ label: "Runs", page: "runs" }}
        title={run.kind}
        sub={
          <span class="head-facts">
            <State name={run.state} />
            <Id id={run.id} most={40} copy />
            <span>created <Time at={run.created_at} /></span>
            <span>
              {ENDED.has(run.state) ? "took " : "for "}
              <Span from={run.started_at ?? run.created_at} until={run.completed_at} />
            </span>
          </span>
        }
      >
        <Actions run={run} steps={steps} />
      </Head>
      <Failure run={run} />
      {!ENDED.has(run.state) && <Why explain={explain} />}
      {run.progress.pct !== null && !ENDED.has(run.state) && <Progress pct={run.progress.pct} words={run.progress.message ?? ""} />}
      <div class="run-grid">
        <div class="column">
          <Card title="Timeline" extra={timeline && timeline.axis.some((part) => part.folded) && <span class="faint small">idle time is folded</span>}>
            {timeline?.spans.length ? <Timeline axis={timeline.axis} spans={timeline.spans} /> : <p class="pad faint">Nothing has happened yet.</p>}
          </Card>
          <Card>
            <div class="tabs-pad">
              <Tabs
                tabs={[
                  { id: "logs", label: "Logs" },
                  { id: "steps", label: "Steps", count: steps.length },
                  { id: "attempts", label: "Attempts", count: run.attempts },
                  { id: "waits", label: "Waits" },
                  { id: "children", label: "Children" },
                  { id: "stream", label: "Stream" },
                  { id: "history", label: "History" },
                  { id: "compare", label: "Compare" },
                ]}
              />
            </div>
            <Part run={run} steps={steps} />
          </Card>
        </div>
        <div class="column">
          <Card title="Facts">
            <div class="pad"><About run={run} /></div>
          </Card>
          {run.budgets.length > 0 && <Budgets run={run} />}
          <PayloadCard title="Input" address={addressOf("GET /v1/executions/{id}/input", { path: { id: run.id }, query: { tenant: scope.value } })} />
          {run.state === "completed" && <PayloadCard title="Result" address={addressOf("GET /v1/executions/{id}/result", { path: { id: run.id }, query: { tenant: scope.value } })} />}
        </div>
      </div>
    </>
  );
}

function Actions({ run, steps }: { run: ExecutionView; steps: Facts_["steps"] }): VNode {
  const [input, setInput] = useState("");
  useEffect(() => {
    if (!seesPayloads()) return;
    payload(addressOf("GET /v1/executions/{id}/input", { path: { id: run.id }, query: { tenant: scope.value } }))
      .then((found) => setInput(found && found.bytes < 65_536 ? found.text : ""))
      .catch(() => undefined);
  }, [run.id]);
  const actions = runActions(run, steps, input);
  return (
    <>
      {actions.map((action) => <Button key={action.verb} action={action} />)}
    </>
  );
}

function Part({ run, steps }: { run: ExecutionView; steps: Facts_["steps"] }): VNode {
  switch (param("tab")) {
    case "steps":
      return <Steps steps={steps} />;
    case "attempts":
      return <Attempts id={run.id} />;
    case "waits":
      return <Waits id={run.id} />;
    case "children":
      return <Children id={run.id} />;
    case "stream":
      return <Frames id={run.id} />;
    case "history":
      return <History id={run.id} />;
    case "compare":
      return <Compare run={run} />;
    default:
      return <Logs id={run.id} />;
  }
}

function Failure({ run }: { run: ExecutionView }): VNode | null {
  const error = run.error as { type?: string; message?: string; details?: unknown; traceback?: string } | null;
  if (!error?.type) return null;
  const isOver = ENDED.has(run.state);
  return (
    <section class={`failure tone-${isOver ? "danger" : "warn"}`} aria-label="Error">
      <Icon name="cause" />
      <div class="failure-text">
        <h2>{error.type}</h2>
        <p>{error.message}</p>
        {!isOver && <p class="faint">The last attempt failed; it is tried again.</p>}
        {error.details !== undefined && error.details !== null && (
          <details>
            <summary>Details</summary>
            <pre>{typeof error.details === "string" ? error.details : JSON.stringify(error.details, null, 2)}</pre>
          </details>
        )}
      </div>
      <a class="link" href={to(["runs"], { kind: run.kind, error_type: error.type, state: "failed,expired" })}>
        Others like it <Icon name="right" />
      </a>
    </section>
  );
}

/** Why it does not run: a sentence, and a chain of things that can be opened. */
function Why({ explain }: { explain: Facts_["explain"] }): VNode {
  const links = explain.holds.flatMap((hold) => {
    const target = hold.target as { noun: string; id: string } | null | undefined;
    return target ? [{ text: `${phrase(target.noun)} ${target.id}`, target }] : [];
  });
  return (
    <section class="why-card" aria-label="Why">
      <Icon name="info" />
      <div>
        <p>{explain.why}</p>
        {links.length > 0 && (
          <ol class="chain">
            {links.map((one, at) => {
              const href = pageOf(one.target.noun, one.target.id);
              return (
                <li key={at}>
                  {at > 0 && <Icon name="right" />}
                  {href ? <a href={href}>{one.text}</a> : <span>{one.text}</span>}
                </li>
              );
            })}
          </ol>
        )}
      </div>
    </section>
  );
}

function Progress({ pct, words }: { pct: number; words: string }): VNode {
  return (
    <div class="progress">
      <div class="progress-track" role="progressbar" aria-valuenow={Math.round(pct)} aria-valuemin={0} aria-valuemax={100} aria-label="Progress">
        <span style={{ width: `${pct}%` }} />
      </div>
      <span class="num">{Math.round(pct)} %</span>
      <span class="faint clip">{words}</span>
    </div>
  );
}

function About({ run }: { run: ExecutionView }): VNode {
  const of = (noun: string, id: string): VNode => <Id id={id} href={pageOf(noun, id)} />;
  return (
    <Facts
      rows={[
        ["Tenant", of("tenant", run.tenant)],
        ["Lane", <a href={pageOf("lane", run.lane) ?? ""}>{run.lane}</a>],
        ["Priority", run.priority],
        run.worker !== null && ["Worker", of("worker", run.worker)],
        run.requires.length > 0 && ["Requires", run.requires.join(", ")],
        ["Attempts", `${run.attempts} (${run.failures} failed, ${run.reclaims} reclaimed)`],
        run.replays > 0 && ["Replays", run.replays],
        run.retry_at !== null && ["Next try", <Time at={run.retry_at} />],
        run.run_at !== null && ["Starts", <Time at={run.run_at} />],
        run.deadline_at !== null && ["Deadline", <Time at={run.deadline_at} />],
        run.wait_until !== null && ["Waits until", <Time at={run.wait_until} />],
        run.lease_expires_at !== null && ["Lease until", <Time at={run.lease_expires_at} />],
        run.graph !== null && ["Graph", of("graph", run.graph)],
        run.parent !== null && ["Parent", of("execution", run.parent)],
        !!run.origin && ["Origin", of("execution", run.origin)],
        run.budgets.length > 0 && ["Budgets", run.budgets.map((id) => of("budget", id))],
        run.quotas.length > 0 && ["Quotas", run.quotas.map((id) => of("quota", id))],
        run.reason !== null && run.reason !== "" && ["Reason", run.reason],
        run.idempotency_key !== null && ["Idempotency key", <code>{middle(run.idempotency_key, 28)}</code>],
        Object.keys(run.tags).length > 0 && ["Tags", <Tags tags={run.tags} />],
        run.forget_at !== null && ["Kept until", <Time at={run.forget_at} />],
        !ENDED.has(run.state) && ["Phase", `${phrase(run.state_vector.lifecycle_phase)}, ${run.state_vector.eligibility.replaceAll("_", " ")}`],
      ]}
    />
  );
}

/** What pays for it, and more of that. */
function Budgets({ run }: { run: ExecutionView }): VNode {
  const found = useLoad((signal) => Promise.all(run.budgets.map((id) => call("GET /v1/budgets/{id}", { path: { id }, query: { tenant: run.tenant } as never, signal }))), [run.id, run.budgets.join()], { every: 5_000 });
  return (
    <Card title="Budgets">
      <div class="pad stack">
        <Show of={found} rows={1}>
          {(budgets) =>
            budgets.map((budget) => (
              <div class="stack-s" key={budget.id}>
                <span class="pair">
                  <Id id={budget.id} href={pageOf("budget", budget.id)} /> <Button action={{ ...grant(budget), verb: "Grant more" }} tone="slim" />
                </span>
                <Spend budget={budget} />
              </div>
            ))
          }
        </Show>
      </div>
    </Card>
  );
}

/** A payload is read when a person asks for it. */
function PayloadCard({ title, address }: { title: string; address: string }): VNode {
  const [found, setFound] = useState<{ text: string; type: string; bytes: number } | null | undefined>(undefined);
  const [problem, setProblem] = useState<Problem | null>(null);
  const read = (): void => {
    payload(address)
      .then(setFound)
      .catch((error: unknown) => setProblem(error instanceof Problem ? error : new Problem(0, "page_failed", String(error), "")));
  };
  useEffect(() => {
    if (seesPayloads()) read();
  }, [address]);
  return (
    <Card title={title} extra={found && <span class="faint small">{found.type.split(";")[0]}</span>}>
      <div class="pad">
        {!seesPayloads() ? (
          <p class="faint">Payloads are hidden: your key does not include them.</p>
        ) : problem ? (
          <p class="faint">{problem.message}</p>
        ) : found ? (
          found.text ? (
            <Payload text={found.text} name={title.toLowerCase()} />
          ) : <span class="faint">empty</span>
        ) : <span class="faint">…</span>}
      </div>
    </Card>
  );
}

