// Overview: is it healthy, what fails, what waits longest, what to do next.

import type { VNode } from "preact";

import { pageOf, to } from "../lib/address";
import { call, type Reply } from "../lib/call";
import { of, useLoad } from "../lib/load";
import { sumOf, useHistory } from "../lib/history";
import { soft } from "../lib/soft";
import { scope } from "../lib/session";
import { ago, now, span } from "../lib/time";
import { brief, count, middle, plural } from "../lib/words";
import { Card, Id, Marked, Time } from "../parts/basics";
import { inboxCount } from "../parts/badges";
import { Sparkline, StateBar } from "../parts/chart";
import { Head } from "../parts/head";
import { Icon, type IconName } from "../parts/icon";
import { Command, Show } from "../parts/show";
import { RUN_STATES, State } from "../parts/state";

type Snapshot = Reply<"GET /v1/snapshot">;
type Causes = Reply<"GET /v1/executions:causes">;

interface Facts {
  counts: Record<string, number>;
  kinds: Map<string, Record<string, number>>;
  snapshot: Snapshot | null;
  findings: Reply<"GET /v1/doctor">["findings"];
  causes: Causes["items"];
  stuck: Reply<"GET /v1/executions">["items"];
}

const DAY_MS = 86_400_000;
const OPEN = RUN_STATES.slice(0, 6);

async function read(signal: AbortSignal): Promise<Facts> {
  const tenant = scope.value;
  const since = new Date(Date.now() - DAY_MS).toISOString();
  const [counts, snapshot, doctor, causes, stuck] = await Promise.all([
    call("GET /v1/counts", { query: { tenant }, signal }),
    soft(call("GET /v1/snapshot", { signal })),
    soft(call("GET /v1/doctor", { signal })),
    soft(call("GET /v1/executions:causes", { query: { tenant, since, limit: 5 }, signal })),
    soft(call("GET /v1/executions", { query: { tenant, state: "waiting,rate_limited,waiting_children", order: "oldest", limit: 5, why: true }, signal })),
  ]);
  const facts: Facts = {
    counts: {},
    kinds: new Map(),
    snapshot,
    findings: doctor?.findings ?? [],
    causes: causes?.items ?? [],
    stuck: stuck?.items ?? [],
  };
  for (const row of counts.items) {
    facts.counts[row.state] = (facts.counts[row.state] ?? 0) + row.count;
    const states = facts.kinds.get(row.kind) ?? {};
    states[row.state] = (states[row.state] ?? 0) + row.count;
    facts.kinds.set(row.kind, states);
  }
  return facts;
}

export function Overview(): VNode {
  const facts = useLoad(read, [scope.value], { when: of("execution", "queue", "worker", "waitpoint"), every: 15_000 });
  return (
    <>
      <Head title="Overview" />
      <Show of={facts}>{(data) => <Found facts={data} />}</Show>
    </>
  );
}

function Found({ facts }: { facts: Facts }): VNode {
  const whole = Object.values(facts.counts).reduce((sum, value) => sum + value, 0);
  return (
    <>
      <Verdict facts={facts} />
      {!whole && <FirstRun />}
      <Tiles facts={facts} />
      <div class="columns">
        <div class="column">
          <Failing causes={facts.causes} />
          <Kinds kinds={facts.kinds} />
        </div>
        <div class="column">
          <Longest rows={facts.stuck} />
          {facts.snapshot && <Lanes snapshot={facts.snapshot} />}
          {facts.snapshot && <Queues snapshot={facts.snapshot} />}
        </div>
      </div>
    </>
  );
}

/** One sentence, and the doctor's findings behind it. */
function Verdict({ facts }: { facts: Facts }): VNode {
  const bad = facts.findings.filter((finding) => finding.level !== "ok");
  const isWrong = bad.some((finding) => finding.level === "error");
  const tone = isWrong ? "danger" : bad.length ? "warn" : "good";
  const words = bad.length ? `${plural(bad.length, "thing")} ${bad.length === 1 ? "needs" : "need"} a look` : "Everything works";
  return (
    <section class={`verdict tone-${tone}`} aria-label="Health">
      <div class="verdict-line">
        <Icon name={bad.length ? "cause" : "check"} />
        <h2>{words}</h2>
        {!bad.length && facts.findings.length > 0 && <span class="faint">{plural(facts.findings.length, "check")} passed</span>}
      </div>
      {bad.length > 0 && (
        <ul>
          {bad.map((finding) => (
            <li key={finding.check + finding.text}>
              <State name={finding.level} word={finding.check.replaceAll("_", " ")} />
              <span><Marked text={finding.text} /></span>
              {finding.fix && <span class="faint"><Marked text={finding.fix} /></span>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function FirstRun(): VNode {
  return (
    <Card title="Nothing has run yet">
      <div class="pad stack">
        <p class="about">Submit something; it appears here at once. Without a worker it waits, and its page says so.</p>
        <Command text={'holdfast submit hello --input \'{"name": "Ann"}\''} />
        <Command text="holdfast worker app:app" />
      </div>
    </Card>
  );
}

function Tiles({ facts }: { facts: Facts }): VNode {
  const { counts, snapshot } = facts;
  const lanes = useHistory("lane");
  const oldest = snapshot?.oldest_waiting;
  const workers = snapshot?.workers ?? [];
  const busy = workers.reduce((total, worker) => total + worker.busy, 0);
  const slots = workers.reduce((total, worker) => total + worker.slots, 0);
  return (
    <div class="tiles">
      <Tile icon="play" label="Running" history={sumOf(lanes, "active")} value={counts.active ?? 0} href={to(["runs"], { state: "active" })} note={slots ? `${count(busy)} of ${count(slots)} slots busy` : "no worker"} />
      <Tile
        icon="clock"
        label="Waiting for a worker"
        history={sumOf(lanes, "waiting")}
        value={counts.waiting ?? 0}
        href={to(["runs"], { state: "waiting" })}
        note={oldest ? `oldest since ${span(now.value - Date.parse(oldest.created_at))}` : "nothing waits"}
      />
      <Tile icon="inbox" label="Waiting for people" history={sumOf(lanes, "held")} value={inboxCount.value} href={to(["inbox"])} note={`${count(counts.suspended ?? 0)} suspended in all`} />
      <Tile icon="cause" label="Failed" tone="danger" history={sumOf(lanes, "failed")} value={(counts.failed ?? 0) + (counts.expired ?? 0)} href={to(["runs"], { state: "failed,expired" })} note={`${count(facts.causes.reduce((total, cause) => total + cause.count, 0))} in the last day`} />
    </div>
  );
}

function Tile({ icon, label, value, href, note, history, tone = "accent" }: { icon: IconName; label: string; value: number; href: string; note: string; history: number[] | undefined; tone?: string }): VNode {
  return (
    <a class="tile" href={href}>
      <span class="tile-label">
        <Icon name={icon} /> {label}
      </span>
      <b class={value && tone === "danger" ? "tone-danger toned" : ""}>{brief(value)}</b>
      <Sparkline values={history} label={label} tone={tone} />
      <span class="faint small">{note}</span>
    </a>
  );
}

function Failing({ causes }: { causes: Causes["items"] }): VNode {
  return (
    <Card
      title="Failing most, last 24 hours"
      extra={
        <a class="link" href={to(["causes"])}>
          All failures
        </a>
      }
    >
      {causes.length ? (
        <ul class="lines">
          {causes.map((cause) => (
            <li key={`${cause.kind} ${cause.error_type} ${cause.place}`}>
              <a class="line" href={to(["runs"], { state: "failed,expired", kind: cause.kind, error_type: cause.error_type })}>
                <span class="line-main">
                  <b>{cause.kind}</b> <span class="tone-danger toned">{cause.error_type}</span>
                </span>
                <span class="line-sub clip">{cause.place}</span>
              </a>
              <span class="line-end">
                <b class="num">{count(cause.count)}</b>
                <Time at={cause.last_at} />
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="pad faint">Nothing failed in the last day.</p>
      )}
    </Card>
  );
}

function Kinds({ kinds }: { kinds: Facts["kinds"] }): VNode {
  const rows = [...kinds].map(([kind, states]) => ({ kind, states, sum: Object.values(states).reduce((total, value) => total + value, 0) }));
  rows.sort((one, other) => other.sum - one.sum);
  return (
    <Card title="Tasks">
      {rows.length ? (
        <ul class="lines">
          {rows.slice(0, 8).map(({ kind, states, sum }) => (
            <li key={kind}>
              <a class="line" href={to(["runs"], { kind })}>
                <span class="line-main clip">{kind}</span>
                <StateBar counts={states} />
              </a>
              <span class="line-end">
                <b class="num">{count(sum)}</b>
                {(states.failed ?? 0) > 0 ? <span class="tone-danger toned">{plural(states.failed!, "failure")}</span> : <span class="faint">no failure</span>}
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="pad faint">No task has run yet.</p>
      )}
    </Card>
  );
}

function Longest({ rows }: { rows: Facts["stuck"] }): VNode {
  return (
    <Card title="Waiting longest">
      {rows.length ? (
        <ul class="lines">
          {rows.map((row) => (
            <li key={row.id}>
              <div class="line">
                <span class="line-main">
                  <State name={row.state} /> <a href={to(["runs", row.id])}>{row.kind}</a> <Id id={row.id} most={14} href={pageOf("execution", row.id)} />
                </span>
                <span class="line-sub">{row.why}</span>
              </div>
              <span class="line-end">
                <b class="num">{ago(row.created_at).replace(" ago", "")}</b>
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="pad faint">Nothing waits.</p>
      )}
    </Card>
  );
}

function Lanes({ snapshot }: { snapshot: Snapshot }): VNode {
  return (
    <Card
      title="Lanes"
      extra={
        <a class="link" href={to(["workers"])}>
          Workers and lanes
        </a>
      }
    >
      <ul class="lines">
        {snapshot.lanes.slice(0, 6).map((lane) => {
          const open = OPEN.map((state) => [state, lane.counts[state] ?? 0] as const).filter(([, value]) => value);
          return (
            <li key={lane.lane}>
              <div class="line">
                <span class="line-main clip">{lane.lane}</span>
                <span class="line-sub">{open.length ? open.map(([state, value]) => `${count(value)} ${state.replaceAll("_", " ")}`).join(", ") : "idle"}</span>
              </div>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

function Queues({ snapshot }: { snapshot: Snapshot }): VNode | null {
  const rows = snapshot.queues.filter((queue) => queue.ready || queue.dead || queue.in_flight || queue.paused);
  if (!rows.length) return null;
  return (
    <Card
      title="Queues"
      extra={
        <a class="link" href={to(["queues"])}>
          All queues
        </a>
      }
    >
      <ul class="lines">
        {rows.slice(0, 6).map((queue) => (
          <li key={queue.name}>
            <a class="line" href={to(["queues", queue.name])}>
              <span class="line-main clip">{middle(queue.name, 40)}</span>
              <span class="line-sub">
                {count(queue.ready)} ready, {count(queue.in_flight)} in flight
              </span>
            </a>
            <span class="line-end">{queue.dead > 0 && <span class="tone-danger toned">{plural(queue.dead, "dead letter")}</span>}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
