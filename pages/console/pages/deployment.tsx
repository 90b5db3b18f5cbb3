// A deployment: its revisions, its split, its rollout, and what has changed.

import type { VNode } from "preact";
import { useEffect } from "preact/hooks";

import type { DeploymentView, NeedView, RevisionView, RolloutView } from "../api/schemas";
import { go, here, param, to } from "../lib/address";
import { call } from "../lib/call";
import { drainAction, lifecycleActions, rollbackAction, rolloutActions, startRollout, type Place } from "../lib/deployment_actions";
import { of, useLoad } from "../lib/load";
import { span } from "../lib/time";
import { scope } from "../lib/session";
import { soft } from "../lib/soft";
import { count, middle, percent, phrase } from "../lib/words";
import { Button, Card, Copy, Facts, Id, Time } from "../parts/basics";
import { Differences } from "../parts/differences";
import { Head } from "../parts/head";
import { seen } from "../parts/palette";
import { Show } from "../parts/show";
import { SplitEditor } from "../parts/split";
import { State } from "../parts/state";
import { Table } from "../parts/table";
import { Split } from "./deployments";

interface Facts_ {
  deployment: DeploymentView;
  rollouts: RolloutView[];
  /** When nothing needs a revision any more, in words. */
  forecasts: Record<string, string>;
  events: { at: string; event: string; by: string; revision: string | null; before: string | null; generation: number | null; to: number | null }[];
}

export function Deployment({ env, id }: { env: string; id: string }): VNode {
  const path = { env, d: id };
  const query = { tenant: scope.value };
  const found = useLoad<Facts_>(
    async (signal) => {
      const [deployment, rollouts, events] = await Promise.all([
        call("GET /v1/envs/{env}/deployments/{d}", { path, query, signal }),
        soft(call("GET /v1/envs/{env}/deployments/{d}/rollouts", { path, query: { ...query, limit: 10 }, signal })),
        soft(call("GET /v1/envs/{env}/deployments/{d}/events", { path, query: { ...query, limit: 50 }, signal })),
      ]);
      const held = deployment.revisions.filter((one) => one.running + one.waiting > 0).slice(-10);
      const forecasts = held.map(async ({ id: r }) => [r, (await soft(call("GET /v1/envs/{env}/deployments/{d}/revisions/{r}/forecast", { path: { ...path, r }, query, signal })))?.sentence ?? "cannot say"]);
      return { deployment, rollouts: rollouts?.items ?? [], events: events?.items ?? [], forecasts: Object.fromEntries(await Promise.all(forecasts)) };
    },
    [env, id, scope.value],
    { when: of("deployment", "session") },
  );
  useEffect(() => seen(`Deployment ${id}`, to(["deployments", env, id])), [env, id]);
  return <Show of={found}>{(data) => <Found facts={data} />}</Show>;
}

function Found({ facts: { deployment, rollouts, events, forecasts } }: { facts: Facts_ }): VNode {
  const where: Place = { env: deployment.env, d: deployment.id, tenant: deployment.tenant };
  const weights = new Map(deployment.split.entries.map((entry) => [entry.revision, entry.weight_bps]));
  const active = rollouts.find((one) => one.state === "running" || one.state === "paused");
  const chosen = deployment.revisions.find((one) => one.id === param("revision"));
  return (
    <>
      <Head
        up={{ label: "Deployments", page: "deployments" }}
        title={deployment.id}
        sub={
          <span class="head-facts">
            <span>{deployment.pack ? `pack ${deployment.pack}` : `app ${deployment.app}`}</span>
            <span>environment {deployment.env}</span>
            <span>tenant {deployment.tenant}</span>
            <span>
              generation {deployment.split.generation}
              {deployment.split.by ? ` by ${deployment.split.by}` : ""} {deployment.split.at && <Time at={deployment.split.at} />}
            </span>
          </span>
        }
      >
        {deployment.past.length > 0 && <Button action={rollbackAction(where, deployment)} />}
      </Head>
      <Split deployment={deployment} />
      {active && <Rollout rollout={active} where={where} />}
      <Card title="Revisions">
        <Table
          label="Revisions"
          rows={[...deployment.revisions].reverse()}
          keyOf={(row) => row.id}
          chosen={param("revision")}
          columns={[
            { id: "id", label: "Revision", cell: (row) => <a class="strong" href={here({ revision: row.id })}>{row.id}</a> },
            { id: "lifecycle", label: "Lifecycle", cell: (row) => <State name={row.lifecycle} /> },
            ...(deployment.revisions.some(gateWords) ? [{ id: "gate", label: "Held by", drop: "medium" as const, cell: gateWords }] : []),
            { id: "weight", label: "Weight", kind: "num", cell: (row) => (weights.get(row.id) ? percent(weights.get(row.id)!) : <span class="faint">0 %</span>) },
            { id: "running", label: "Running", kind: "num", drop: "narrow", cell: (row) => count(row.running) },
            { id: "waiting", label: "Waiting", kind: "num", cell: (row) => <a class="link" href={here({ revision: row.id })}>{count(row.waiting)}</a> },
            { id: "oldest", label: "Oldest wait", kind: "num", drop: "narrow", cell: (row) => <Time at={row.oldest_wait} /> },
            { id: "digest", label: "Digest", kind: "id", drop: "wide", cell: (row) => row.digest && <span class="id">{middle(row.digest.replace("sha256:", ""), 14)}<Copy text={row.digest} label="Copy digest" /></span> },
            { id: "staged", label: "Staged", kind: "num", drop: "medium", cell: (row) => <Time at={row.staged_at} /> },
            { id: "act", label: "Actions", kind: "actions", drop: "narrow", cell: (row) => [...lifecycleActions(where, row), ...(active ? [] : startRollout(where, row, deployment)), ...drainAction(where, row, weights.get(row.id) ?? 0, forecasts[row.id])].map((action) => <Button key={action.verb} action={action} tone="slim" />) },
          ]}
        />
        {deployment.revisions.filter((one) => one.lifecycle === "draining" && forecasts[one.id]).map((one) => <p key={one.id} class="pad faint">{one.id} drains. Until nothing needs it: {forecasts[one.id]}.</p>)}
      </Card>
      {chosen && <Holders where={where} revision={chosen} forecast={forecasts[chosen.id]} />}
      {chosen && <Changes key={chosen.id} where={where} revision={chosen} others={deployment.revisions} />}
      <div class="columns">
        <SplitEditor where={where} deployment={deployment} forecasts={forecasts} />
        <Card title="What has changed">
          {events.length ? (
            <ul class="lines">
              {events.map((event, at) => (
                <li key={at}>
                  <div class="line">
                    <span class="line-main">{phrase(event.event)} {event.revision ?? ""}</span>
                    <span class="line-sub">{event.generation !== null && `generation ${event.generation}, `}by {event.by || "the server"}</span>
                  </div>
                  <span class="line-end"><Time at={event.at} /></span>
                </li>
              ))}
            </ul>
          ) : <p class="pad faint">Nothing yet.</p>}
        </Card>
      </div>
    </>
  );
}

function gateWords(revision: RevisionView): string {
  const closed = revision.gates.filter((gate) => !gate.passed);
  return closed.map((gate) => `${gate.name}: ${gate.reason}`).join("; ");
}

/** The conversations that still hold a revision. */
function Holders({ where, revision, forecast }: { where: Place; revision: RevisionView; forecast: string | undefined }): VNode {
  const found = useLoad(
    async (signal) => {
      const path = { env: where.env, d: where.d, r: revision.id };
      const query = { tenant: where.tenant };
      const [needs, figures] = await Promise.all([
        call("GET /v1/envs/{env}/deployments/{d}/revisions/{r}/needs", { path, query: { ...query, limit: 100 }, signal }),
        soft(call("GET /v1/envs/{env}/deployments/{d}/revisions/{r}/figures", { path, query, signal })),
      ]);
      return { needs: needs.items as NeedView[], figures };
    },
    [revision.id],
    { every: 5_000 },
  );
  return (
    <Card title={`What holds revision ${revision.id}`}>
      <Show of={found} rows={3}>
        {({ needs, figures }) => (
          <>
            {figures && (
              <div class="pad">
                <Facts rows={[["Turns lately", count(figures.turns)], ["Failed", figures.error_rate_bps === null ? "too few to say" : percent(figures.error_rate_bps)], ["Latency p95", figures.p95_ms === null ? "too few to say" : span(figures.p95_ms)], revision.deadline_at !== null && ["Drained by", <Time at={revision.deadline_at} />], forecast !== undefined && ["Until nothing needs it", forecast]]} />
              </div>
            )}
            {needs.length ? (
              <Table
                label="Holders"
                rows={needs}
                keyOf={(row) => row.execution}
                href={(row) => to(["runs", row.execution])}
                columns={[
                  { id: "state", label: "State", cell: (row) => <State name={row.state} /> },
                  { id: "session", label: "Session", kind: "id", cell: (row) => row.session && <Id id={row.session} href={to(["sessions", row.session])} most={16} /> },
                  { id: "run", label: "Run", kind: "id", drop: "narrow", cell: (row) => <Id id={row.execution} href={to(["runs", row.execution])} /> },
                  { id: "hold", label: "Waits for", drop: "narrow", cell: (row) => phrase(row.hold) },
                  { id: "since", label: "Since", kind: "num", cell: (row) => <Time at={row.since} /> },
                ]}
              />
            ) : <p class="pad faint">Nothing needs it.</p>}
          </>
        )}
      </Show>
    </Card>
  );
}

/** What is different in a revision. */
function Changes({ where, revision, others }: { where: Place; revision: RevisionView; others: RevisionView[] }): VNode {
  const before = param("before") || (others.filter((one) => one.number < revision.number).at(-1)?.id ?? "");
  const found = useLoad((signal) => call("GET /v1/envs/{env}/deployments/{d}/revisions/{r}/diff", { path: { env: where.env, d: where.d, r: revision.id }, query: { tenant: where.tenant, ...(before ? { other: before } : {}) }, signal }), [revision.id, before]);
  return (
    <Card
      title={`What is different in ${revision.id}`}
      extra={
        <label class="pair small">
          before
          <select value={before} onChange={(event) => go(here({ before: event.currentTarget.value }), { replace: true })}>
            {others.filter((one) => one.id !== revision.id).map((one) => <option key={one.id}>{one.id}</option>)}
          </select>
        </label>
      }
    >
      <Differences of={found} />
    </Card>
  );
}

function Rollout({ rollout, where }: { rollout: RolloutView; where: Place }): VNode {
  return (
    <Card
      title={`Rollout of ${rollout.revision}`}
      extra={
        <>
          <State name={rollout.state} />
          {rolloutActions(where, rollout).map((action) => <Button key={action.verb} action={action} tone="slim" />)}
        </>
      }
    >
      <div class="pad rollout">
        <ol class="rollout-steps">
          {rollout.steps.map((step, at) => (
            <li key={at} aria-current={at === rollout.step ? "step" : undefined} class={at < rollout.step ? "done" : ""}>
              <b class="num">{percent(step.weight_bps)}</b>
              <span class="faint">{step.duration_ms ? `for ${span(step.duration_ms)}` : "until promoted"}</span>
              {at === rollout.step && <span class="small">since <Time at={rollout.step_at} /></span>}
            </li>
          ))}
        </ol>
        <div class="stack">
          <p>{rollout.verdict}</p>
          <Table
            label="Figures"
            rows={[
              { name: "New", figures: rollout.new },
              { name: "Old", figures: rollout.old },
            ]}
            keyOf={(row) => row.name}
            columns={[
              { id: "name", label: "Revision", cell: (row) => row.name },
              { id: "turns", label: "Turns", kind: "num", cell: (row) => count(row.figures?.turns ?? 0) },
              { id: "errors", label: "Errors", kind: "num", cell: (row) => (row.figures?.error_rate_bps === null || !row.figures ? "–" : percent(row.figures.error_rate_bps)) },
              { id: "p95", label: "p95", kind: "num", cell: (row) => (row.figures?.p95_ms ? span(row.figures.p95_ms) : "–") },
            ]}
          />
          <p class="faint small">
            Judged after {count(rollout.guards.min_turns)} turns
            {rollout.guards.error_rate_bps !== null && `; aborts if its error rate is ${percent(rollout.guards.error_rate_bps)} higher`}
            {rollout.guards.p95_percent !== null && `; or its p95 is more than ${rollout.guards.p95_percent} % of the old one's`}.
          </p>
        </div>
      </div>
    </Card>
  );
}
