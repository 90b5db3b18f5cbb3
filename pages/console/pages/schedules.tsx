// Schedules: when each fires, in words, and what it did.

import type { VNode } from "preact";

import type { ScheduleView } from "../api/schemas";
import { quoted, type Action } from "../lib/action";
import { go, here, param, to } from "../lib/address";
import { call } from "../lib/call";
import { inWords } from "../lib/cron";
import { of, useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { exact, span } from "../lib/time";
import { count } from "../lib/words";
import { Button, Card, Facts, Id, Time } from "../parts/basics";
import { Head } from "../parts/head";
import { Value } from "../parts/json";
import { Empty, Show } from "../parts/show";
import { State } from "../parts/state";
import { Table } from "../parts/table";

export function whenWords(schedule: ScheduleView): string {
  if (schedule.cron) return `${inWords(schedule.cron)}${schedule.timezone === "UTC" ? " UTC" : `, ${schedule.timezone}`}`;
  if (schedule.every_ms) return `Every ${span(schedule.every_ms)}`;
  return schedule.at ? `Once, at ${exact(schedule.at)}` : "";
}

export function Schedules(): VNode {
  const found = useLoad((signal) => call("GET /v1/schedules", { query: { tenant: scope.value, limit: 500 }, signal }), [scope.value], { when: of("execution"), every: 10_000 });
  return (
    <>
      <Head title="Schedules" sub="Runs that start by the clock, once for each time, whichever server is alive." />
      <Show
        of={found}
        empty={(data) =>
          data.items.length ? null : (
            <Empty icon="schedule" title="There is no schedule" command={"holdfast schedules create nightly report --cron '30 2 * * *'"}>
              A schedule submits a run at each of its times.
            </Empty>
          )
        }
      >
        {(data) => {
          const chosen = data.items.find((one) => one.id === param("id"));
          return (
            <>
              <Card>
                <Table
                  label="Schedules"
                  rows={data.items}
                  keyOf={(row) => row.id}
                  chosen={param("id")}
                  href={(row) => here({ id: row.id })}
                  columns={[
                    { id: "id", label: "Schedule", cell: (row) => <a class="strong" href={here({ id: row.id })}>{row.id}</a> },
                    { id: "state", label: "State", cell: (row) => <State name={row.error ? "error" : row.paused ? "paused" : "live"} word={row.error ? "Error" : row.paused ? "Paused" : "On"} /> },
                    { id: "when", label: "When", kind: "grow", cell: (row) => <span title={row.cron ?? ""}>{whenWords(row)}</span> },
                    { id: "kind", label: "Task", drop: "narrow", cell: (row) => String(row.execution.kind ?? "") },
                    { id: "next", label: "Next", kind: "num", cell: (row) => <Time at={row.next_at} /> },
                    { id: "last", label: "Last", kind: "num", drop: "narrow", cell: (row) => (row.last_execution ? <a class="link" href={to(["runs", row.last_execution])}><Time at={row.last_at} /></a> : <span class="faint">–</span>) },
                    { id: "fired", label: "Fired", kind: "num", drop: "medium", cell: (row) => count(row.fired) },
                    { id: "act", label: "Actions", kind: "actions", drop: "narrow", cell: (row) => [trigger(row), pause(row)].map((action) => <Button key={action.verb} action={action} tone="slim" />) },
                  ]}
                />
              </Card>
              {chosen && <Details key={chosen.id} schedule={chosen} />}
            </>
          );
        }}
      </Show>
    </>
  );
}

function Details({ schedule }: { schedule: ScheduleView }): VNode {
  const next = useLoad((signal) => call("GET /v1/schedules/{id}/next", { path: { id: schedule.id }, query: { tenant: schedule.tenant, count: 5 }, signal }), [schedule.id, schedule.version, schedule.last_at]);
  return (
    <div class="columns">
      <Card
        title={schedule.id}
        extra={
          <>
            <Button action={trigger(schedule)} tone="slim" />
            <Button action={pause(schedule)} tone="slim" />
            <Button action={drop(schedule)} tone="slim" />
          </>
        }
      >
        <div class="pad">
          <Facts
            rows={[
              ["When", whenWords(schedule)],
              schedule.cron !== null && ["Cron", <code>{schedule.cron}</code>],
              ["Tenant", schedule.tenant],
              ["Missed times", schedule.catch_up === "none" ? "are skipped" : schedule.catch_up === "one" ? "are made up for once" : `are all made up for, at most ${schedule.catch_up_limit}`],
              ["While one runs", schedule.overlap === "allow" ? "the next starts too" : schedule.overlap === "skip" ? "the next is skipped" : "the next waits"],
              ["Fired", `${count(schedule.fired)}, ${count(schedule.skipped)} skipped, ${count(schedule.missed)} missed`],
              schedule.last_execution !== null && ["Last run", <Id id={schedule.last_execution} href={to(["runs", schedule.last_execution])} />],
              schedule.error !== null && ["Error", <span class="problem">{schedule.error}</span>],
              ["Changed", <Time at={schedule.changed_at} />],
            ]}
          />
        </div>
      </Card>
      <div class="column">
        <Card title="Next five">
          <div class="pad">
            <Show of={next} rows={5}>
              {(data) => (
                <ol class="stack-s">
                  {data.items.map((at) => (
                    <li key={at} class="pair">
                      <Time at={at} as="exact" /> <span class="faint"><Time at={at} /></span>
                    </li>
                  ))}
                </ol>
              )}
            </Show>
          </div>
        </Card>
        <Card title="What it submits">
          <div class="pad"><Value value={schedule.execution} /></div>
        </Card>
      </div>
    </div>
  );
}

function trigger(schedule: ScheduleView): Action {
  return {
    title: `Fire ${schedule.id} now`,
    verb: "Fire now",
    icon: "bolt",
    about: "One run more, at once; its times stay as they are.",
    target: "POST /v1/schedules/{id}/trigger",
    path: { id: schedule.id },
    query: { tenant: schedule.tenant },
    cli: () => `schedules trigger ${quoted(schedule.id)}`,
    role: "operator",
    done: () => `${schedule.id} fired.`,
    after: (reply: { id: string }) => go(to(["runs", reply.id])),
  };
}

function pause(schedule: ScheduleView): Action {
  const verb = schedule.paused ? "resume" : "pause";
  return {
    title: `${schedule.paused ? "Resume" : "Pause"} ${schedule.id}`,
    verb: schedule.paused ? "Resume" : "Pause",
    icon: schedule.paused ? "play" : "pause",
    target: "PATCH /v1/schedules/{id}",
    path: { id: schedule.id },
    query: { tenant: schedule.tenant },
    body: () => ({ paused: !schedule.paused }),
    cli: () => `schedules ${verb} ${quoted(schedule.id)}`,
    role: "operator",
    done: () => `${schedule.id} is ${schedule.paused ? "on again" : "paused"}.`,
  };
}

function drop(schedule: ScheduleView): Action {
  return {
    title: `Delete schedule ${schedule.id}`,
    verb: "Delete",
    icon: "trash",
    about: "Runs that it has submitted stay.",
    target: "DELETE /v1/schedules/{id}",
    path: { id: schedule.id },
    query: { tenant: schedule.tenant },
    cli: () => `schedules delete ${quoted(schedule.id)}`,
    role: "operator",
    isDangerous: true,
    done: () => `${schedule.id} is deleted.`,
  };
}
