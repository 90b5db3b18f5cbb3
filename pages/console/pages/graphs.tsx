// Graphs: runs that wait for other runs.

import type { VNode } from "preact";

import { param, here, to } from "../lib/address";
import { call } from "../lib/call";
import { of, useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { count, phrase } from "../lib/words";
import { Card, Id, Span, Time } from "../parts/basics";
import { Head } from "../parts/head";
import { Empty, Notice, Show } from "../parts/show";
import { State } from "../parts/state";
import { Table } from "../parts/table";

const STATES = ["running", "completed", "failed", "cancelled"];

export function Graphs(): VNode {
  const state = param("state");
  const found = useLoad((signal) => call("GET /v1/graphs", { query: { tenant: scope.value, limit: 200, ...(state ? { state } : {}) } as never, signal }), [scope.value, state], { when: of("execution") });
  return (
    <>
      <Head title="Graphs" sub="Sets of runs in which some wait for others. The store starts each as soon as it may." />
      <nav class="strip" aria-label="States">
        {["", ...STATES].map((one) => (
          <a key={one} href={here({ state: one || null })} aria-current={one === state ? "true" : undefined}>{one ? phrase(one) : "All"}</a>
        ))}
      </nav>
      <Show
        of={found}
        empty={(data) => {
          if (data.items.length) return null;
          if (state) return <Notice icon="search" title={`No graph is ${state}`} />;
          return <Empty icon="graph" title="There is no graph">Submit one with <code>app.graph()</code> or <code>POST /v1/graphs</code>.</Empty>;
        }}
      >
        {(data) => (
          <Card>
            <Table
              label="Graphs"
              rows={data.items}
              keyOf={(row) => row.id}
              href={(row) => to(["graphs", row.id])}
              columns={[
                { id: "state", label: "State", cell: (row) => <State name={row.state} /> },
                { id: "id", label: "Graph", kind: "id", cell: (row) => <Id id={row.id} href={to(["graphs", row.id])} most={20} /> },
                { id: "size", label: "Members", kind: "num", drop: "narrow", cell: (row) => count(row.size) },
                { id: "open", label: "Open", kind: "num", drop: "narrow", cell: (row) => count(row.open) },
                { id: "failures", label: "Failed", kind: "num", cell: (row) => <span class={row.failures ? "tone-danger toned" : ""}>{count(row.failures)}</span> },
                { id: "tenant", label: "Tenant", drop: "medium", cell: (row) => row.tenant },
                { id: "took", label: "Time", kind: "num", drop: "narrow", cell: (row) => <Span from={row.created_at} until={row.completed_at} /> },
                { id: "created", label: "Created", kind: "num", drop: "narrow", cell: (row) => <Time at={row.created_at} /> },
              ]}
            />
          </Card>
        )}
      </Show>
    </>
  );
}
