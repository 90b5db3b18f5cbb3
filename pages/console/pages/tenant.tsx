// A tenant: its share of the work, what it may use, what it spends, and who talks most.

import type { VNode } from "preact";

import { to } from "../lib/address";
import { all, call } from "../lib/call";
import { of, useLoad } from "../lib/load";
import { soft } from "../lib/soft";
import { count, percent, phrase } from "../lib/words";
import { Card, Facts, Meter } from "../parts/basics";
import { StateBar } from "../parts/chart";
import { Head } from "../parts/head";
import { Show } from "../parts/show";
import { ENDED } from "../parts/state";
import { Spend } from "../parts/spend";
import { Table } from "../parts/table";

const MOST_SESSIONS = 2_000;
const SHOWN = 10;

export function Tenant({ name }: { name: string }): VNode {
  const found = useLoad(
    async (signal) => {
      const query = { tenant: name };
      const [counts, everybody, quotas, budgets, sessions] = await Promise.all([
        call("GET /v1/counts", { query, signal }),
        soft(call("GET /v1/counts", { query: {}, signal })),
        call("GET /v1/quotas", { query: { ...query, limit: 200 }, signal }),
        call("GET /v1/budgets", { query: { ...query, limit: 200 }, signal }),
        all((cursor) => call("GET /v1/sessions", { query: { ...query, limit: 500, ...(cursor ? { cursor } : {}) }, signal }), MOST_SESSIONS),
      ]);
      return { counts: counts.items, everybody: everybody?.items ?? counts.items, quotas: quotas.items, budgets: budgets.items, sessions };
    },
    [name],
    { when: of("execution", "session"), every: 10_000 },
  );
  return (
    <>
      <Head title={name} sub="What this tenant runs, may use, and spends." />
      <Show of={found}>
        {({ counts, everybody, quotas, budgets, sessions }) => {
          const open = (items: typeof counts): number => items.filter((item) => !ENDED.has(item.state)).reduce((sum, item) => sum + item.count, 0);
          const whole = open(everybody);
          const kinds = new Map<string, Record<string, number>>();
          const states: Record<string, number> = {};
          for (const { kind, state, count: many } of counts) {
            states[state] = (states[state] ?? 0) + many;
            kinds.set(kind, { ...kinds.get(kind), [state]: (kinds.get(kind)?.[state] ?? 0) + many });
          }
          const sum = (of: Record<string, number>): number => Object.values(of).reduce((total, one) => total + one, 0);
          const talkers = [...sessions].sort((one, other) => other.turn - one.turn).slice(0, SHOWN);
          return (
            <>
              <Card title="Share">
                <div class="pad stack">
                  <Facts rows={[["All runs", <StateBar counts={states} />], ["Open runs", <a href={to(["runs"], { tenant: name })}>{count(open(counts))}</a>], ["Of all open runs", whole ? percent(Math.round((open(counts) / whole) * 10_000)) : "–"], ["Conversations", <a href={to(["sessions"], { tenant: name })}>{count(sessions.length)}</a>]]} />
                </div>
              </Card>
              <div class="columns">
                <Card title="Spend">
                  <div class="pad stack">
                    {budgets.map((budget) => (
                      <div class="stack-s" key={budget.id}>
                        <a class="strong" href={to(["limits"], { tenant: name, id: budget.id })}>{budget.id}</a>
                        <Spend budget={budget} />
                      </div>
                    ))}
                    {!budgets.length && <span class="faint">No budget: nothing counts what it spends.</span>}
                  </div>
                </Card>
                <Card title="Quotas">
                  <div class="pad stack">
                    {quotas.map((quota) => (
                      <span class="budget-row" key={quota.id}>
                        <a class="clip" href={to(["limits"], { tenant: name, id: quota.id })}>{quota.id}</a>
                        <Meter value={quota.running} most={quota.max_concurrent ?? 0} tone={quota.waiting ? "warn" : "accent"} label={`${quota.running} running`} />
                        <span class="num">
                          {count(quota.running)} / {quota.max_concurrent === null ? "no limit" : count(quota.max_concurrent)}, {count(quota.waiting)} waiting
                        </span>
                      </span>
                    ))}
                    {!quotas.length && <span class="faint">No quota holds it back.</span>}
                  </div>
                </Card>
              </div>
              <div class="columns">
                <Card title="Tasks">
                  <Table
                    label="Tasks"
                    rows={[...kinds].sort((one, other) => sum(other[1]) - sum(one[1])).slice(0, SHOWN)}
                    keyOf={([kind]) => kind}
                    href={([kind]) => to(["runs"], { tenant: name, kind })}
                    columns={[
                      { id: "kind", label: "Task", cell: ([kind]) => <a class="strong" href={to(["runs"], { tenant: name, kind })}>{kind}</a> },
                      { id: "states", label: "States", cell: ([, of]) => <span title={Object.entries(of).map(([state, many]) => `${phrase(state)} ${many}`).join(", ")}><StateBar counts={of} /></span> },
                      { id: "sum", label: "Runs", kind: "num", cell: ([, of]) => count(sum(of)) },
                    ]}
                  />
                </Card>
                <Card title="Top talkers">
                  {talkers.length ? (
                    <Table
                      label="Top talkers"
                      rows={talkers}
                      keyOf={(row) => row.id}
                      columns={[
                        { id: "user", label: "User", cell: (row) => <a class="strong" href={to(["sessions", row.id], { tenant: name })}>{row.user}</a> },
                        { id: "kind", label: "Conversation", drop: "narrow", cell: (row) => row.kind },
                        { id: "turn", label: "Turns", kind: "num", cell: (row) => count(row.turn) },
                      ]}
                    />
                  ) : <p class="pad faint">Nobody has talked yet.</p>}
                </Card>
              </div>
            </>
          );
        }}
      </Show>
    </>
  );
}
