// The audit log: who changed what, from where, and what the server said.

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { AuditView } from "../api/schemas";
import { pageOf, param } from "../lib/address";
import { call } from "../lib/call";
import { useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { Card, Copy, Id, Time } from "../parts/basics";
import { Head } from "../parts/head";
import { Search } from "../parts/search";
import { Notice, Show } from "../parts/show";
import { Tag } from "../parts/state";
import { Table } from "../parts/table";

export function Audit(): VNode {
  const [key, request] = [param("key"), param("request")];
  const [more, setMore] = useState<AuditView[]>([]);
  const [cursor, setCursor] = useState<string | null | undefined>(undefined);
  useEffect(() => (setMore([]), setCursor(undefined)), [key]);
  const read = (at: string | undefined, signal?: AbortSignal): Promise<{ items: AuditView[]; next_cursor: string | null }> => call("GET /v1/audit", { query: { tenant: scope.value, limit: 200, ...(key ? { key } : {}), ...(at ? { cursor: at } : {}) }, ...(signal ? { signal } : {}) });
  const found = useLoad((signal) => read(undefined, signal), [scope.value, key], { every: 10_000 });
  const next = cursor === undefined ? found.data?.next_cursor : cursor;
  const load = async (): Promise<void> => {
    const page = await read(next ?? undefined);
    setMore([...more, ...page.items]);
    setCursor(page.next_cursor);
  };
  return (
    <>
      <Head title="Audit log" sub="Every call that changes something, also the refused ones." />
      <Search fields={{ key: "key id", request: "request id, route or thing" }} />
      <Show of={found}>
        {(data) => {
          const known = new Set(data.items.map((row) => row.id));
          const rows = [...data.items, ...more.filter((row) => !known.has(row.id))].filter((row) => fits(row, request));
          if (!rows.length) return <Notice icon="audit" title={key || request ? "No entry fits" : "Nothing was changed yet"} />;
          return (
            <Card>
              <Table
                label="Audit log"
                rows={rows}
                keyOf={(row) => row.id}
                columns={[
                  { id: "at", label: "When", cell: (row) => <Time at={row.at} /> },
                  { id: "key", label: "Who", drop: "narrow", cell: (row) => (row.key ? <Id id={row.key} href={pageOf("key", row.key)} most={16} /> : <span class="faint nowrap">open access</span>) },
                  { id: "what", label: "What", kind: "grow", cell: (row) => <span class="audit-what"><Tag>{row.method}</Tag> <code>{row.route}</code></span> },
                  { id: "target", label: "Thing", drop: "medium", cell: (row) => Object.entries(row.target).map(([name, value]) => `${name} ${value}`).join(", ") },
                  { id: "status", label: "Answer", cell: (row) => <Tag tone={row.status < 400 ? "good" : "danger"}>{row.code ?? row.status}</Tag> },
                  { id: "address", label: "From", drop: "wide", cell: (row) => row.address },
                  { id: "tenant", label: "Tenant", drop: "medium", cell: (row) => row.tenant ?? "" },
                  { id: "request", label: "Request", drop: "medium", kind: "id", cell: (row) => <span class="id">{row.request.slice(-8)}<Copy text={row.request} label="Copy request id" /></span> },
                ]}
              />
              {next && (
                <footer class="list-foot"><button type="button" class="button slim" onClick={() => void load()}>Older entries</button></footer>
              )}
            </Card>
          );
        }}
      </Show>
    </>
  );
}

function fits(row: AuditView, text: string): boolean {
  return !text || [row.request, row.route, ...Object.values(row.target)].some((value) => value.includes(text));
}
