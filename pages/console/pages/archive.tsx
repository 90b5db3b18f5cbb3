// The archive: runs that have left the store for object storage.

import type { VNode } from "preact";

import { call } from "../lib/call";
import { useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { soft } from "../lib/soft";
import { bytes, count } from "../lib/words";
import { Card, Facts, Id, Span, Time } from "../parts/basics";
import { Head } from "../parts/head";
import { Empty, Show } from "../parts/show";
import { State } from "../parts/state";
import { Table } from "../parts/table";

export function Archive(): VNode {
  const found = useLoad(
    async (signal) => {
      const about = await call("GET /v1/archive", { signal });
      const runs = about.url ? await soft(call("GET /v1/archive/executions", { query: { tenant: scope.value, limit: 200 }, signal })) : null;
      return { about, runs: runs?.items ?? [] };
    },
    [scope.value],
    { every: 15_000 },
  );
  return (
    <>
      <Head title="Archive" sub="Ended runs with their history, kept in object storage after the store has forgotten them." />
      <Show
        of={found}
        empty={({ about }) =>
          about.url ? null : (
            <Empty icon="archive" title="There is no archive" command="holdfast server --archive file:///var/lib/holdfast/archive">
              Without one, ended runs are forgotten when their retention is over.
            </Empty>
          )
        }
      >
        {({ about, runs }) => (
          <div class="run-grid">
            <Card title="Runs">
              {runs.length ? (
                <Table
                  label="Archived runs"
                  rows={runs}
                  keyOf={(row) => `${row.tenant} ${row.id}`}
                  columns={[
                    { id: "state", label: "State", cell: (row) => <State name={row.state} /> },
                    { id: "kind", label: "Task", kind: "grow", cell: (row) => row.kind },
                    { id: "id", label: "Id", kind: "id", cell: (row) => <Id id={row.id} copy /> },
                    { id: "took", label: "Time", kind: "num", drop: "narrow", cell: (row) => <Span from={row.started_at ?? row.created_at} until={row.completed_at} /> },
                    { id: "ended", label: "Ended", kind: "num", drop: "narrow", cell: (row) => <Time at={row.completed_at} /> },
                  ]}
                />
              ) : <p class="pad faint">No run has been archived yet.</p>}
            </Card>
            <Card title="Facts">
              <div class="pad">
                <Facts
                  rows={[
                    ["Address", <code>{about.url}</code>],
                    ["Runs", count(about.executions)],
                    ["Size", bytes(about.bytes)],
                    ["Segments", count(about.segments)],
                    ["Waiting", count(about.waiting)],
                    about.first_day !== null && ["Days", `${about.first_day} to ${about.last_day}`],
                    ["Last commit", <Time at={about.committed_at} />],
                  ]}
                />
              </div>
            </Card>
          </div>
        )}
      </Show>
    </>
  );
}
