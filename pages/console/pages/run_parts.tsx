// Parts of a run: steps, attempts, waits, children, history.

import type { TargetedSubmitEvent, VNode } from "preact";

import type { ExecutionsStepView, ExecutionView } from "../api/schemas";
import { go, here, pageOf, param, to } from "../lib/address";
import { call, type Reply } from "../lib/call";
import { useLoad, type Loaded } from "../lib/load";
import { scope, seesPayloads } from "../lib/session";
import { clock, exact } from "../lib/time";
import { phrase } from "../lib/words";
import { Id, Span, Time } from "../parts/basics";
import { Differences } from "../parts/differences";
import { Value } from "../parts/json";
import { Show } from "../parts/show";
import { State } from "../parts/state";
import { Table } from "../parts/table";

export function Steps({ steps }: { steps: ExecutionsStepView[] }): VNode {
  if (!steps.length) return <p class="pad faint">No step was recorded. After a crash, a run continues after its last recorded step.</p>;
  return (
    <ol class="steps">
      {steps.map((step, at) => (
        <li key={step.name}>
          <span class="step-number">{at + 1}</span>
          <div class="stack-s">
            <span class="step-head">
              <b>{step.name}</b> <Time at={step.at} />
            </span>
            {step.result !== null && <Value value={step.result} />}
          </div>
        </li>
      ))}
    </ol>
  );
}

export function Attempts({ id }: { id: string }): VNode {
  const attempts = useLoad((signal) => call("GET /v1/executions/{id}/attempts", { path: { id }, query: { tenant: scope.value, limit: 200 }, signal }), [id], { when: (change) => change.data.execution === id });
  return (
    <Show of={attempts} rows={3} empty={(data) => (data.items.length ? null : <p class="pad faint">It has not been tried yet.</p>)}>
      {(data) => (
        <Table
          label="Attempts"
          rows={data.items}
          keyOf={(row) => String(row.index)}
          columns={[
            { id: "index", label: "#", kind: "num", cell: (row) => row.index },
            { id: "outcome", label: "Outcome", cell: (row) => <State name={row.outcome ?? "running"} /> },
            { id: "kind", label: "Kind", cell: (row) => row.kind, drop: "narrow" },
            { id: "error", label: "Error", kind: "grow", cell: (row) => errorText(row.error) },
            { id: "worker", label: "Worker", cell: (row) => <Id id={row.worker} href={pageOf("worker", row.worker)} most={18} />, drop: "narrow" },
            { id: "started", label: "Started", cell: (row) => <Time at={row.started_at} />, drop: "narrow" },
            { id: "took", label: "Took", kind: "num", cell: (row) => <Span from={row.started_at} until={row.ended_at} /> },
          ]}
        />
      )}
    </Show>
  );
}

function errorText(error: unknown): string {
  const found = error as { type?: string; message?: string } | null;
  return found?.type ? `${found.type}: ${found.message}` : "";
}

export function Waits({ id }: { id: string }): VNode {
  const query = { tenant: scope.value };
  const waits = useLoad(
    async (signal) => {
      const [points, signals] = await Promise.all([call("GET /v1/executions/{id}/waitpoints", { path: { id }, query, signal }), call("GET /v1/executions/{id}/signals", { path: { id }, query, signal })]);
      return { points: points.items, signals: signals.items };
    },
    [id],
    { when: (change) => change.data.execution === id },
  );
  return (
    <Show of={waits} rows={3} empty={(data) => (data.points.length || data.signals.length ? null : <p class="pad faint">It has not waited for an answer.</p>)}>
      {(data) => (
        <>
          <ul class="lines">
            {data.points.map((point) => (
              <li key={point.id}>
                <div class="line">
                  <span class="line-main">
                    <State name={point.state} /> {point.state === "open" ? <a href={to(["inbox"], { id: point.id })}>{point.title || point.name}</a> : point.title || point.name}
                  </span>
                  <span class="line-sub">
                    {answerers(point.came.length ? point.came : data.signals.filter((one) => one.waitpoint === point.id && one.effect === "resumed").map(sender), point.state)}
                  </span>
                </div>
                <span class="line-end">
                  {point.until ? (
                    <>
                      until <Time at={point.until} />
                    </>
                  ) : <Time at={point.created_at} />}
                </span>
              </li>
            ))}
          </ul>
          {data.signals.length > 0 && (
            <ol class="steps">
              {data.signals.map((signal, at) => (
                <li key={at}>
                  <span class="step-number">{at + 1}</span>
                  <div class="stack-s">
                    <span class="step-head">
                      <b>{signal.name}</b> from {sender(signal)}, {signal.effect} <Time at={signal.at} />
                    </span>
                    {signal.payload !== null && <Value value={signal.payload} />}
                  </div>
                </li>
              ))}
            </ol>
          )}
        </>
      )}
    </Show>
  );
}

function sender({ source }: { source: { identity: string; type: string } }): string {
  return source.identity || source.type || "unknown";
}

function answerers(names: string[], state: string): string {
  return names.length ? `answered by ${names.join(", ")}` : state === "open" ? "no answer yet" : "closed without an answer";
}

export function Children({ id }: { id: string }): VNode {
  const children = useLoad((signal) => call("GET /v1/executions", { query: { tenant: scope.value, parent: id, limit: 200 }, signal }), [id], { when: (change) => change.type === "execution" });
  return (
    <Show of={children} rows={3} empty={(data) => (data.items.length ? null : <p class="pad faint">It has no children.</p>)}>
      {(data) => (
        <Table
          label="Children"
          rows={data.items}
          keyOf={(row) => row.id}
          href={(row) => to(["runs", row.id])}
          columns={[
            { id: "state", label: "State", cell: (row) => <State name={row.state} /> },
            { id: "kind", label: "Task", kind: "grow", cell: (row) => <a href={to(["runs", row.id])}>{row.kind}</a> },
            { id: "id", label: "Id", kind: "id", drop: "narrow", cell: (row) => <Id id={row.id} href={to(["runs", row.id])} /> },
            { id: "took", label: "Took", kind: "num", cell: (row) => <Span from={row.started_at ?? row.created_at} until={row.completed_at} /> },
          ]}
        />
      )}
    </Show>
  );
}

export function History({ id }: { id: string }): VNode {
  const history = useLoad((signal) => call("GET /v1/executions/{id}/history", { path: { id }, query: { tenant: scope.value, limit: 1_000 }, signal }), [id], { when: (change) => change.data.execution === id });
  return (
    <Show of={history} rows={6}>
      {(data) => (
        <ol class="logs">
          {data.items.map((event, place) => {
            const { at, event: name, ...rest } = event as Record<string, unknown>;
            return (
              <li key={place}>
                <time datetime={String(at)} title={exact(String(at))}>{clock(String(at), true)}</time>
                <b>{phrase(String(name))}</b>
                <span class="faint">{wordsOf(rest)}</span>
              </li>
            );
          })}
        </ol>
      )}
    </Show>
  );
}

/** Another run, or another attempt of this one, side by side. */
export function Compare({ run }: { run: ExecutionView }): VNode {
  const [other, attempt] = [param("other") || run.origin || "", param("attempts")];
  const [first, second] = attempt.split("-");
  const query = { tenant: scope.value, ...(attempt ? { attempt: Number(first), other_attempt: Number(second) } : { other }) };
  const found = useLoad(async (signal) => (other || attempt ? call("GET /v1/executions/{id}/diff", { path: { id: run.id }, query: query as never, signal }) : null), [run.id, other, attempt]);
  const attempts = Array.from({ length: Math.max(0, Math.min(run.attempts, 10) - 1) }, (_, at) => `${at}-${at + 1}`);
  const choose = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    go(here({ other: String(new FormData(event.currentTarget).get("other") ?? "").trim(), attempts: null }), { replace: true });
  };
  return (
    <>
      <form class="pad pair" onSubmit={choose}>
        <input name="other" placeholder="id of another run" aria-label="Other run" defaultValue={other} autocomplete="off" />
        <button type="submit" class="button slim">Compare</button>
        {attempts.map((pair) => (
          <a key={pair} class="button slim" href={here({ attempts: pair, other: null })} aria-current={pair === attempt ? "true" : undefined}>
            Attempts {pair.split("-").map((one) => Number(one) + 1).join(" and ")}
          </a>
        ))}
      </form>
      {found.data === null ? <p class="pad faint">Before is this run, after is the other one: {seesPayloads() ? "options, input, steps, result and error" : "options, steps and errors; payloads are hidden, and not compared"}.</p> : <Differences of={found as Loaded<Reply<"GET /v1/executions/{id}/diff">>} />}
    </>
  );
}

function wordsOf(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`)
    .join(" · ");
}
