// Budgets and quotas: what may be spent, how much may run, and who waits for them.

import type { VNode } from "preact";

import type { BudgetView, QuotaView } from "../api/schemas";
import { option, quoted, type Action } from "../lib/action";
import { here, param, to } from "../lib/address";
import { call } from "../lib/call";
import { of, useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { soft } from "../lib/soft";
import { span } from "../lib/time";
import { count } from "../lib/words";
import { Button, Card, Meter, Time } from "../parts/basics";
import { Head } from "../parts/head";
import { Empty, Show } from "../parts/show";
import { grant, Spend } from "../parts/spend";
import { Table } from "../parts/table";

export function Limits(): VNode {
  const found = useLoad(
    async (signal) => {
      const query = { tenant: scope.value, limit: 500 };
      const [budgets, quotas, rules] = await Promise.all([call("GET /v1/budgets", { query, signal }), call("GET /v1/quotas", { query, signal }), soft(call("GET /v1/rules", { signal }))]);
      return { budgets: budgets.items, quotas: quotas.items, rules: rules?.items ?? [] };
    },
    [scope.value],
    { when: of("execution"), every: 5_000 },
  );
  return (
    <>
      <Head title="Budgets and quotas" sub="Budgets count what is spent, such as tokens or money. Quotas limit how many runs start or run at once." />
      <Show
        of={found}
        empty={(data) =>
          data.budgets.length || data.quotas.length ? null : (
            <Empty icon="limit" title="Nothing is limited" command="holdfast quotas create mail-api --max-concurrent 5">
              A run that names a budget or a quota starts only while it admits it.
            </Empty>
          )
        }
      >
        {({ budgets, quotas, rules }) => (
          <>
            {budgets.length > 0 && (
              <Card title="Budgets">
                <ul class="lines">
                  {budgets.map((budget) => (
                    <Budget key={budget.id} budget={budget} subjects={rules.filter((rule) => rule.limit === "budget" && rule.id === budget.id).map((rule) => `${rule.subject} ${rule.value}`)} />
                  ))}
                </ul>
              </Card>
            )}
            {quotas.length > 0 && (
              <Card title="Quotas">
                <Table
                  label="Quotas"
                  rows={quotas}
                  keyOf={(row) => row.id}
                  chosen={param("id")}
                  columns={[
                    { id: "id", label: "Quota", cell: (row) => <a class="strong" href={here({ id: row.id })}>{row.id}</a> },
                    {
                      id: "running",
                      label: "Running",
                      cell: (row) => (row.max_concurrent === null ? <span class="num">{count(row.running)}</span> : <Share value={row.running} most={row.max_concurrent} label="running" />),
                    },
                    {
                      id: "window",
                      label: "Started in the window",
                      drop: "narrow",
                      cell: (row) => (row.max_per_window === null ? <span class="faint">no limit</span> : <Share value={row.in_window} most={row.max_per_window} label={`in ${span(row.window_ms ?? 0)}`} />),
                    },
                    { id: "waiting", label: "Waiting", kind: "num", drop: "narrow", cell: (row) => <a href={to(["runs"], { state: "rate_limited" })}>{count(row.waiting)}</a> },
                    { id: "frees", label: "Frees", kind: "num", drop: "narrow", cell: (row) => <Time at={row.frees_at} /> },
                    { id: "rules", label: "For", drop: "medium", cell: (row) => rules.filter((rule) => rule.limit === "quota" && rule.id === row.id).map((rule) => `${rule.subject} ${rule.value}`).join(", ") },
                    { id: "tenant", label: "Tenant", drop: "medium", cell: (row) => row.tenant },
                    { id: "act", label: "Actions", kind: "actions", cell: (row) => <Button action={setQuota(row)} tone="slim" /> },
                  ]}
                />
              </Card>
            )}
          </>
        )}
      </Show>
    </>
  );
}

function Share({ value, most, label }: { value: number; most: number; label: string }): VNode {
  return (
    <span class="pair">
      <Meter value={value} most={most} tone={value >= most ? "warn" : "accent"} label={`${value} of ${most} ${label}`} />
      <span class="num">{count(value)} / {count(most)}</span>
    </span>
  );
}

function Budget({ budget, subjects }: { budget: BudgetView; subjects: string[] }): VNode {
  return (
    <li class={param("id") === budget.id ? "chosen-line" : ""}>
      <div class="stack-s">
        <span class="line-main">
          <b>{budget.id}</b>
          <span class="faint small">
            {budget.tenant}
            {budget.parent ? `, part of ${budget.parent}` : ""}, at the limit: {budget.on_hard}
            {subjects.length ? `, for ${subjects.join(", ")}` : ""}
          </span>
          {budget.waiting > 0 && <span class="tone-warn toned">{count(budget.waiting)} waiting</span>}
        </span>
        <Spend budget={budget} />
      </div>
      <span class="line-end">
        {budget.breaches.hard > 0 && <span class="tone-danger toned">{count(budget.breaches.hard)} refused</span>}
        {budget.next_reset_at && <span>resets <Time at={budget.next_reset_at} /></span>}
        <span class="buttons">
          <Button action={grant(budget)} tone="slim" />
          <Button action={reset(budget)} tone="slim" />
        </span>
      </span>
    </li>
  );
}

function reset(budget: BudgetView): Action {
  return {
    title: `Reset ${budget.id}`,
    verb: "Reset",
    icon: "retry",
    about: "What was used counts as nothing from now on.",
    target: "POST /v1/budgets/{id}/reset",
    path: { id: budget.id },
    query: { tenant: budget.tenant },
    cli: () => `budgets reset ${quoted(budget.id)}`,
    role: "operator",
    isDangerous: true,
    done: () => `${budget.id} starts again.`,
  };
}

function setQuota(quota: QuotaView): Action {
  const numbers = ({ max_concurrent, max_per_window, window_ms }: Record<string, string>): object => ({
    ...(max_concurrent ? { max_concurrent: Number(max_concurrent) } : {}),
    ...(max_per_window ? { max_per_window: Number(max_per_window), window_ms: Number(window_ms) } : {}),
  });
  return {
    title: `Change quota ${quota.id}`,
    verb: "Change",
    icon: "edit",
    target: "PUT /v1/quotas/{id}",
    path: { id: quota.id },
    query: { tenant: quota.tenant },
    fields: [
      { name: "max_concurrent", label: "Running at once, at most", kind: "number", initial: String(quota.max_concurrent ?? "") },
      { name: "max_per_window", label: "Starts in a window, at most", kind: "number", initial: String(quota.max_per_window ?? "") },
      { name: "window_ms", label: "Window in ms", kind: "number", initial: String(quota.window_ms ?? "") },
    ],
    body: numbers,
    cli: ({ max_concurrent, max_per_window, window_ms }) => `quotas set ${quoted(quota.id)}${option("max-concurrent", max_concurrent)}${option("max-per-window", max_per_window)}${window_ms ? ` --window ${span(Number(window_ms)).replaceAll(" ", "")}` : ""}`,
    role: "operator",
    done: () => `Quota ${quota.id} is changed.`,
  };
}
