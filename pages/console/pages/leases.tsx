// Writer leases: who alone may write to something, found by its key.

import type { VNode } from "preact";

import { param } from "../lib/address";
import { call } from "../lib/call";
import { useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { now, span } from "../lib/time";
import { phrase } from "../lib/words";
import { Card, Facts, Time } from "../parts/basics";
import { Head } from "../parts/head";
import { Search } from "../parts/search";
import { Empty, Show } from "../parts/show";
import { State } from "../parts/state";
import { Table } from "../parts/table";

export function Leases(): VNode {
  const key = param("key");
  return (
    <>
      <Head title="Writer leases" sub="A lease gives one process the right to write something, and fences off those that had it before." />
      <Search fields={{ key: "key of a lease, such as ledger/main" }} verb="Show" />
      {key ? (
        <Lease key={key} name={key} />
      ) : (
        <Empty icon="lease" title="Name a lease" command="holdfast writer-lease show ledger/main">
          Leases are found by the key that their holders use.
        </Empty>
      )}
    </>
  );
}

function Lease({ name }: { name: string }): VNode {
  const found = useLoad((signal) => call("GET /v1/writer-leases/{key}", { path: { key: name }, query: { tenant: scope.value }, signal }), [name, scope.value], { every: 3_000 });
  return (
    <Show of={found}>
      {(lease) => {
        const isHeld = !lease.released && Date.parse(lease.expires_at) > now.value;
        return (
          <div class="columns">
            <Card title={lease.key}>
              <div class="pad">
                <Facts
                  rows={[
                    ["State", <State name={isHeld ? "live" : "ended"} word={isHeld ? "Held" : lease.released ? "Released" : "Expired"} />],
                    ["Holder", lease.holder],
                    ["Incarnation", <code>{lease.incarnation}</code>],
                    ["Token", `term ${lease.token.term}, generation ${lease.token.generation}`],
                    ["Held since", <Time at={lease.acquired_at} />],
                    ["Until", <Time at={lease.expires_at} />],
                    ["Lives for", span(lease.ttl_ms)],
                    lease.successor !== null && ["Successor", lease.successor],
                  ]}
                />
              </div>
            </Card>
            <Card title="Holders before">
              {lease.holders.length ? (
                <Table
                  label="Holders before"
                  rows={lease.holders}
                  keyOf={(row) => `${row.token.term} ${row.token.generation}`}
                  columns={[
                    { id: "holder", label: "Holder", cell: (row) => row.holder },
                    { id: "token", label: "Token", kind: "num", cell: (row) => `${row.token.term}.${row.token.generation}` },
                    { id: "since", label: "Acquired", cell: (row) => <Time at={row.acquired_at} /> },
                    { id: "ended", label: "Ended", cell: (row) => phrase(row.ended) },
                  ]}
                />
              ) : <p class="pad faint">Nobody held it before.</p>}
            </Card>
          </div>
        );
      }}
    </Show>
  );
}
