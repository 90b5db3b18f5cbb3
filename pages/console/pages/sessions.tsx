// Sessions: conversations with people, and where each of them is.

import type { VNode } from "preact";

import type { SessionView } from "../api/schemas";
import { here, param, to } from "../lib/address";
import { call } from "../lib/call";
import { of, useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { count, phrase } from "../lib/words";
import { Card, Id, Time } from "../parts/basics";
import { Head } from "../parts/head";
import { Search } from "../parts/search";
import { Empty, Notice, Show } from "../parts/show";
import { State } from "../parts/state";
import { Table } from "../parts/table";

const STATES = ["person", "running", "waiting", "suspended", "idle"];
const WORDS: Record<string, string> = { person: "With a person", running: "Answering", waiting: "Waits for a message", suspended: "Suspended", idle: "Idle" };

/** What a session does now, in a chip. */
export function Standing({ session }: { session: SessionView }): VNode {
  const icon: Record<string, string> = { waiting: "parked", person: "person", running: "running" };
  return <State name={icon[session.state] ?? session.state} word={session.state === "person" ? `With ${session.person}` : (WORDS[session.state] ?? phrase(session.state))} />;
}

export function Sessions(): VNode {
  const [user, state, revision] = [param("user"), param("state"), param("revision")];
  const found = useLoad((signal) => call("GET /v1/sessions", { query: { tenant: scope.value, limit: 500, ...(user ? { user } : {}) }, signal }), [scope.value, user], { when: of("session", "execution") });
  return (
    <>
      <Head title="Sessions" sub="Conversations. A session that waits for a person costs nothing and survives restarts." />
      <Search fields={{ user: "user", revision: "revision" }} />
      <Show of={found}>
        {(data) => {
          const rows = data.items.filter((row) => (!state || row.state === state) && (!revision || (row.revision ?? "").includes(revision)));
          // Who waits for a person is served in turn.
          if (state === "person") rows.sort((one, other) => Date.parse(one.since ?? one.active_at) - Date.parse(other.since ?? other.active_at));
          return (
            <>
              <nav class="strip" aria-label="States">
                <a href={here({ state: null })} aria-current={state ? undefined : "true"}>All <b>{count(data.items.length)}</b></a>
                {STATES.map((one) => (
                  <a key={one} href={here({ state: one })} aria-current={one === state ? "true" : undefined}>
                    {WORDS[one]} <b>{count(data.items.filter((row) => row.state === one).length)}</b>
                  </a>
                ))}
              </nav>
              {rows.length ? <List rows={rows} /> : data.items.length ? <Notice icon="search" title="No session fits" /> : <None />}
            </>
          );
        }}
      </Show>
    </>
  );
}

function None(): VNode {
  return (
    <Empty icon="session" title="Nobody has written yet" command="holdfast dev examples/packs/support">
      Sessions appear when somebody writes to a deployment or a Python conversation.
    </Empty>
  );
}

function List({ rows }: { rows: SessionView[] }): VNode {
  return (
    <Card>
      <Table
        label="Sessions"
        rows={rows}
        keyOf={(row) => row.id}
        href={(row) => to(["sessions", row.id])}
        columns={[
          { id: "state", label: "State", cell: (row) => <Standing session={row} /> },
          { id: "user", label: "User", cell: (row) => <a class="strong" href={to(["sessions", row.id])}>{row.user}</a> },
          { id: "kind", label: "Conversation", drop: "narrow", cell: (row) => row.kind },
          ...(rows.some((row) => row.handover_reason) ? [{ id: "reason", label: "Wants", drop: "narrow" as const, cell: (row: SessionView) => row.handover_reason }] : []),
          { id: "endpoint", label: "Channel", drop: "medium", cell: (row) => row.endpoint || <span class="faint">API</span> },
          { id: "revision", label: "Revision", drop: "medium", cell: (row) => row.revision ?? <span class="faint">–</span> },
          { id: "turns", label: "Turns", kind: "num", drop: "narrow", cell: (row) => count(row.turn) },
          { id: "since", label: "In this state", kind: "num", drop: "narrow", cell: (row) => <Time at={row.since ?? row.active_at} /> },
          { id: "active", label: "Active", kind: "num", cell: (row) => <Time at={row.active_at} /> },
          { id: "tenant", label: "Tenant", drop: "medium", cell: (row) => row.tenant },
          { id: "id", label: "Id", kind: "id", drop: "medium", cell: (row) => <Id id={row.id} most={16} href={to(["sessions", row.id])} /> },
        ]}
      />
    </Card>
  );
}
