// Failures, grouped by what they have in common.

import type { VNode } from "preact";

import { here, param, to } from "../lib/address";
import { call } from "../lib/call";
import { of, useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { count } from "../lib/words";
import { Card, Id, Time } from "../parts/basics";
import { Head } from "../parts/head";
import { Empty, Show } from "../parts/show";
import { Table } from "../parts/table";

const SPANS: [string, string, number][] = [
  ["", "24 hours", 86_400_000],
  ["1h", "1 hour", 3_600_000],
  ["7d", "7 days", 604_800_000],
];

export function Causes(): VNode {
  const chosen = SPANS.find(([id]) => id === param("span")) ?? SPANS[0]!;
  const found = useLoad(
    (signal) => call("GET /v1/executions:causes", { query: { tenant: scope.value, since: new Date(Date.now() - chosen[2]).toISOString(), limit: 100 }, signal }),
    [scope.value, chosen[0]],
    { when: of("execution") },
  );
  return (
    <>
      <Head title="Failures" sub="What failed, grouped by task, error and place. Open a group to see its runs and to replay them together." />
      <nav class="strip" aria-label="Since">
        {SPANS.map(([id, label]) => <a key={id} href={here({ span: id || null })} aria-current={id === chosen[0] ? "true" : undefined}>{label}</a>)}
      </nav>
      <Show of={found} empty={(data) => (data.items.length ? null : <Empty icon="check" title={`Nothing failed in the last ${chosen[1]}`} />)}>
        {(data) => (
          <Card>
            <Table
              label="Failures"
              rows={data.items}
              keyOf={(row) => `${row.kind} ${row.error_type} ${row.code} ${row.place}`}
              href={(row) => group(row)}
              columns={[
                { id: "count", label: "Runs", kind: "num", width: "4.500rem", cell: (row) => <b>{count(row.count)}</b> },
                { id: "kind", label: "Task", cell: (row) => <a class="strong" href={group(row)}>{row.kind}</a> },
                {
                  id: "error",
                  label: "Error",
                  kind: "grow",
                  cell: (row) => (
                    <span class="cause">
                      <b class="tone-danger toned">{row.error_type}</b> {row.code !== row.error_type && row.code}
                    </span>
                  ),
                },
                { id: "place", label: "Place", drop: "medium", cell: (row) => <code class="nowrap">{row.place}</code> },
                { id: "example", label: "Example", drop: "narrow", kind: "id", cell: (row) => <Id id={row.example} href={to(["runs", row.example])} most={18} /> },
                { id: "first", label: "First", kind: "num", drop: "medium", cell: (row) => <Time at={row.first_at} /> },
                { id: "last", label: "Last", kind: "num", drop: "narrow", cell: (row) => <Time at={row.last_at} /> },
              ]}
            />
          </Card>
        )}
      </Show>
    </>
  );
}

function group(row: { kind: string; error_type: string }): string {
  return to(["runs"], { state: "failed,expired", kind: row.kind, error_type: row.error_type });
}
