// What budgets have used, and more of it where it is short.

import type { VNode } from "preact";

import type { BudgetView } from "../api/schemas";
import { option, quoted, type Action } from "../lib/action";
import { count } from "../lib/words";
import { Meter } from "./basics";

/** What is used of each limit of a budget. */
export function Spend({ budget }: { budget: BudgetView }): VNode {
  return (
    <>
      {Object.entries(budget.limits).map(([dimension, limit]) => {
        const used = (budget.usage[dimension] ?? 0) + (budget.reserved[dimension] ?? 0);
        const most = limit.hard ?? limit.soft ?? 0;
        const tone = limit.hard !== null && used >= limit.hard ? "danger" : limit.soft !== null && used >= limit.soft ? "warn" : "accent";
        return (
          <span class="budget-row" key={dimension}>
            <span class="clip">{dimension}</span>
            <Meter value={used} most={most} tone={tone} label={`${used} of ${most} ${dimension}`} />
            <span class="num">
              {count(used)} / {count(most)}
              {limit.soft !== null && limit.hard !== null && <span class="faint"> warns at {count(limit.soft)}</span>}
            </span>
          </span>
        );
      })}
    </>
  );
}

export function grant(budget: BudgetView): Action {
  const dimensions = Object.keys(budget.limits);
  const limits = (values: Record<string, string>): Record<string, { hard: number | null }> => Object.fromEntries(dimensions.filter((name) => values[name]?.trim()).map((name) => [name, { hard: Number(values[name]) }]));
  return {
    title: `Change the limits of ${budget.id}`,
    verb: "Change",
    icon: "edit",
    about: "Runs that wait for this budget start as soon as it admits them.",
    target: "PATCH /v1/budgets/{id}",
    path: { id: budget.id },
    query: { tenant: budget.tenant },
    fields: dimensions.map((name) => ({ name, label: `${name}, at most`, kind: "number" as const, initial: String(budget.limits[name]!.hard ?? "") })),
    body: (values) => ({ limits: limits(values) }),
    cli: (values) => `budgets set ${quoted(budget.id)}${dimensions.map((name) => option("hard", `${name}=${values[name] ?? ""}`)).join("")}`,
    role: "operator",
    done: () => `The limits of ${budget.id} are changed.`,
  };
}
