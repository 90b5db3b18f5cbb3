// Queues: how much waits in each, and what ended as a dead letter.

import type { VNode } from "preact";

import type { QueueView } from "../api/schemas";
import { quoted, type Action } from "../lib/action";
import { to } from "../lib/address";
import { all, call, type Reply } from "../lib/call";
import { sumOf, useHistory } from "../lib/history";
import { of, useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { soft } from "../lib/soft";
import { count } from "../lib/words";
import { Button, Card } from "../parts/basics";
import { Sparkline } from "../parts/chart";
import { Head } from "../parts/head";
import { Empty, Show } from "../parts/show";
import { State, Tag } from "../parts/state";
import { Table } from "../parts/table";

export type Stats = Reply<"GET /v1/queues/{name}/stats">;

interface Row {
  queue: QueueView;
  stats: Stats | null;
}

/** How much there is, whatever the mode of the queue. */
export function figures(stats: Stats | null): { ready: number; delayed: number; in_flight: number; dead: number } {
  const groups = Object.values(stats?.groups ?? {});
  const sum = (field: "ready" | "delayed" | "in_flight" | "dead"): number => stats?.[field] ?? groups.reduce((total, group) => total + group[field], 0);
  return { ready: sum("ready"), delayed: sum("delayed"), in_flight: sum("in_flight"), dead: sum("dead") };
}

export function Queues(): VNode {
  const rows = useLoad<Row[]>(
    async (signal) => {
      const queues = await all((cursor) => call("GET /v1/queues", { query: { tenant: scope.value, limit: 200, ...(cursor ? { cursor } : {}) }, signal }), 200);
      return Promise.all(
        queues.map(async (queue) => ({
          queue,
          stats: await soft(call("GET /v1/queues/{name}/stats", { path: { name: queue.name }, query: { tenant: queue.tenant }, signal })),
        })),
      );
    },
    [scope.value],
    { when: of("queue") },
  );
  const history = useHistory("queue");
  const depth = ({ tenant, name }: QueueView): number[] | undefined => sumOf(history.filter((row) => row.tenant === tenant && row.name === name), "ready", "in_flight");
  return (
    <>
      <Head title="Queues" sub="Messages between programs: work queues, where one consumer gets each message, and fan-out queues, where every group does." />
      <Show
        of={rows}
        empty={(data) =>
          data.length ? null : (
            <Empty icon="queue" title="There is no queue" command="holdfast queues define orders --dead-letter orders-dead">
              A queue takes messages and hands each to a consumer until it is acknowledged.
            </Empty>
          )
        }
      >
        {(data) => (
          <Card>
            <Table
              label="Queues"
              rows={data}
              keyOf={(row) => `${row.queue.tenant} ${row.queue.name}`}
              href={(row) => to(["queues", row.queue.name])}
              columns={[
                {
                  id: "name",
                  label: "Queue",
                  cell: ({ queue }) => (
                    <a class="strong" href={to(["queues", queue.name], queue.tenant === "default" ? {} : { tenant: queue.tenant })}>{queue.name}</a>
                  ),
                },
                { id: "mode", label: "Mode", drop: "narrow", cell: ({ queue }) => (queue.takes_dead_letters ? <Tag tone="danger">dead letters</Tag> : queue.mode) },
                { id: "state", label: "State", drop: "narrow", cell: ({ queue }) => <State name={queue.paused ? "paused" : "ready"} word={queue.paused ? "Paused" : "Open"} /> },
                { id: "ready", label: "Ready", kind: "num", cell: ({ stats }) => count(figures(stats).ready) },
                { id: "flight", label: "In flight", kind: "num", cell: ({ stats }) => count(figures(stats).in_flight) },
                { id: "delayed", label: "Delayed", kind: "num", drop: "medium", cell: ({ stats }) => count(figures(stats).delayed) },
                { id: "dead", label: "Dead", kind: "num", cell: ({ stats }) => <span class={figures(stats).dead ? "tone-danger toned" : ""}>{count(figures(stats).dead)}</span> },
                { id: "hour", label: "Last hour", drop: "medium", width: "14%", cell: ({ queue }) => <Sparkline values={depth(queue)} label="Messages" /> },
                { id: "pushed", label: "Pushed", kind: "num", drop: "medium", cell: ({ stats }) => count(stats?.pushed ?? 0) },
                { id: "tenant", label: "Tenant", drop: "medium", cell: ({ queue }) => queue.tenant },
                { id: "act", label: "Actions", kind: "actions", cell: ({ queue }) => <Button action={pauseAction(queue)} tone="slim" hideLabel /> },
              ]}
            />
          </Card>
        )}
      </Show>
    </>
  );
}

export function pauseAction(queue: QueueView): Action {
  const verb = queue.paused ? "resume" : "pause";
  return {
    title: `${queue.paused ? "Resume" : "Pause"} queue ${queue.name}`,
    verb: queue.paused ? "Resume" : "Pause",
    icon: queue.paused ? "play" : "pause",
    about: queue.paused ? "Consumers get messages again." : "Producers can push; consumers get nothing until it is resumed.",
    target: queue.paused ? "POST /v1/queues/{name}/resume" : "POST /v1/queues/{name}/pause",
    path: { name: queue.name },
    query: { tenant: queue.tenant },
    cli: () => `queues ${verb} ${quoted(queue.name)}`,
    role: "operator",
    done: () => `Queue ${queue.name} is ${queue.paused ? "open again" : "paused"}.`,
  };
}
