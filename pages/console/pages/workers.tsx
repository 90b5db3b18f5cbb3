// Workers and lanes: who runs what, and how much waits for them.

import type { VNode } from "preact";

import type { LaneView, WorkerView } from "../api/schemas";
import { quoted, type Action } from "../lib/action";
import { param, to } from "../lib/address";
import { all, call } from "../lib/call";
import { sumOf, useHistory } from "../lib/history";
import { of, useLoad } from "../lib/load";
import { scope, tenant } from "../lib/session";
import { now } from "../lib/time";
import { count, phrase, plural } from "../lib/words";
import { Button, Card, Id, Meter, Time } from "../parts/basics";
import { Sparkline, StateBar } from "../parts/chart";
import { Head } from "../parts/head";
import { Empty, Show } from "../parts/show";
import { State, Tag } from "../parts/state";
import { Table } from "../parts/table";

export function Workers(): VNode {
  const found = useLoad(
    async (signal) => {
      const [workers, lanes] = await Promise.all([
        all((cursor) => call("GET /v1/workers", { query: { limit: 500, ...(cursor ? { cursor } : {}) }, signal })),
        call("GET /v1/lanes", { query: { limit: 500 }, signal }),
      ]);
      return { workers, lanes: lanes.items };
    },
    [scope.value],
    // Heartbeats are no changes, so the times of the last ones have to be read.
    { when: of("worker"), every: 8_000 },
  );
  const history = useHistory("lane");
  const ended = (lane: string): number[] | undefined => sumOf(history.filter((row) => row.name === lane), "completed", "failed");
  return (
    <>
      <Head title="Workers and lanes" sub="A worker claims runs from lanes. What waits in a lane without a worker waits until one comes." />
      <Show of={found}>
        {({ workers, lanes }) => (
          <>
            <Card title="Lanes" extra={<span class="faint small">{plural(lanes.length, "lane")}</span>}>
              <Table
                label="Lanes"
                rows={lanes}
                keyOf={(row) => row.lane}
                chosen={param("lane")}
                columns={[
                  { id: "lane", label: "Lane", cell: (row) => <a class="strong" href={to(["runs"], { lane: row.lane })}>{row.lane}</a> },
                  { id: "setting", label: "State", cell: (row) => <State name={row.setting === "open" ? "ready" : row.setting} word={phrase(row.setting)} /> },
                  { id: "workers", label: "Workers", kind: "num", cell: (row) => (row.workers ? row.workers : <span class="tone-warn toned">none</span>) },
                  { id: "waiting", label: "Waiting", kind: "num", cell: (row) => count(row.counts.waiting ?? 0) },
                  { id: "active", label: "Active", kind: "num", drop: "narrow", cell: (row) => count(row.counts.active ?? 0) },
                  { id: "hour", label: "Ended, last hour", drop: "medium", width: "18%", cell: (row) => <Sparkline values={ended(row.lane)} label="Ended" /> },
                  { id: "bar", label: "All states", drop: "medium", width: "18%", cell: (row) => <StateBar counts={row.counts} /> },
                  { id: "act", label: "Actions", kind: "actions", drop: "narrow", cell: (row) => laneActions(row).map((action) => <Button key={action.verb} action={action} tone="slim" />) },
                ]}
              />
            </Card>
            <Card title="Workers" extra={<span class="faint small">{plural(workers.length, "worker")}</span>}>
              {workers.length ? (
                <Table
                  label="Workers"
                  rows={workers}
                  keyOf={(row) => row.instance}
                  chosen={param("id")}
                  columns={[
                    { id: "instance", label: "Instance", kind: "id", cell: (row) => <Id id={row.instance} most={26} copy /> },
                    { id: "state", label: "State", cell: (row) => <State name={stateOf(row)} /> },
                    { id: "lanes", label: "Lanes", drop: "narrow", cell: (row) => row.lanes.join(", ") },
                    { id: "capabilities", label: "Capabilities", drop: "medium", cell: (row) => row.capabilities.map((name) => <Tag key={name}>{name}</Tag>) },
                    {
                      id: "busy",
                      label: "Slots",
                      drop: "narrow",
                      cell: (row) => (
                        <span class="pair">
                          <Meter value={row.busy} most={row.slots} label={`${row.busy} of ${row.slots} slots busy`} />
                          <span class="num">{row.busy}/{row.slots}</span>
                        </span>
                      ),
                    },
                    { id: "beat", label: "Last seen", drop: "narrow", kind: "num", cell: (row) => <Time at={row.heartbeat_at} /> },
                    { id: "since", label: "Since", drop: "wide", kind: "num", cell: (row) => <Time at={row.registered_at} /> },
                    { id: "act", label: "Actions", kind: "actions", drop: "narrow", cell: (row) => !row.draining && <Button action={drainWorker(row)} tone="slim" /> },
                  ]}
                />
              ) : (
                <Empty icon="worker" title="No worker is connected" command="holdfast worker app:app">
                  {tenant.value ? "Workers of other tenants are not shown." : "Runs wait until one is."}
                </Empty>
              )}
            </Card>
          </>
        )}
      </Show>
    </>
  );
}

function stateOf(worker: WorkerView): string {
  if (Date.parse(worker.expires_at) < now.value) return "lost";
  return worker.draining ? "draining" : "live";
}

function laneActions(lane: LaneView): Action[] {
  const make = (verb: "pause" | "resume" | "drain", label: string, icon: string, about: string): Action => ({
    title: `${label} lane ${lane.lane}`,
    verb: label,
    icon,
    about,
    target: `POST /v1/lanes/{lane}/${verb}`,
    path: { lane: lane.lane },
    cli: () => `lanes ${verb} ${quoted(lane.lane)}`,
    role: "operator",
    isDangerous: verb === "drain",
    done: () => `Lane ${lane.lane}: ${verb}.`,
  });
  if (lane.setting !== "open") return [make("resume", "Resume", "play", "Workers claim from it again, and submissions are accepted.")];
  return [make("pause", "Pause", "pause", "Workers finish what they hold and claim nothing more from it; submissions wait."), make("drain", "Drain", "timer", "New submissions are refused; what is there runs to its end.")];
}

function drainWorker(worker: WorkerView): Action {
  return {
    title: `Drain worker ${worker.instance}`,
    verb: "Drain",
    icon: "timer",
    about: `It finishes ${plural(worker.busy, "run")} and claims nothing more.`,
    target: "POST /v1/workers/{instance}/drain",
    path: { instance: worker.instance },
    cli: () => `workers drain ${quoted(worker.instance)}`,
    role: "operator",
    done: () => "The worker drains.",
  };
}
