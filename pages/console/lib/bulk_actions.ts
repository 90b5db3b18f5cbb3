// One action on every run that matches the filters. The server counts first, then carries it out.

import { ask, option, REASON, type Values } from "./action";
import { go, to } from "./address";
import { call, Problem } from "./call";
import { query } from "./filters";
import { me, oneTenant } from "./session";
import { tell } from "./toasts";
import { count, plural } from "./words";

export type Verb = "cancel" | "replay" | "prioritize";
export const LABELS: Record<Verb, string> = { cancel: "Cancel", replay: "Replay", prioritize: "Set priority" };

/** Filters as options of the command. */
const OPTIONS: Record<string, string> = { error_type: "error", id_prefix: "id", kind_prefix: "kind" };

function options(filter: Record<string, string>): string {
  const written = (name: string, value: string): string => (name === "tag" ? value.replace(":", "=") : name === "kind_prefix" ? `${value}*` : value);
  return Object.entries(filter)
    .map(([name, value]) => option(OPTIONS[name] ?? name, written(name, value)))
    .join("");
}

export async function askForAll(verb: Verb): Promise<void> {
  const { order: _, ...filter } = query();
  const tenant = me.value?.tenant ? undefined : (oneTenant() ?? undefined);
  const action = { action: verb, filter, ...(tenant ? { tenant } : {}) };
  const priority = (values: Values): object => (verb === "prioritize" ? { priority: Number(values.priority) } : {});
  try {
    const found = await call("POST /v1/bulk", { body: { ...action, ...priority({ priority: "0" }), dry_run: true } });
    const many = `${count(found.count)}${found.exact ? "" : " or more"} ${found.count === 1 ? "run" : "runs"}`;
    if (!found.count) return tell(`No run that matches allows this: ${LABELS[verb].toLowerCase()}.`, "danger");
    ask({
      title: `${LABELS[verb]}: ${many}`,
      verb: `${LABELS[verb]} ${count(found.count)}`,
      about: `${[...new Set(found.sample.map((run) => `${run.kind} ${run.id}`))].slice(0, 3).join(", ")}${found.count > 3 ? " and others" : ""}. The server acts on each once, also if it restarts; the page of the action shows how far it is, and can stop it.`,
      target: "POST /v1/bulk",
      fields: [...(verb === "prioritize" ? [{ name: "priority", label: "Priority", kind: "number" as const, initial: "0" }] : []), REASON, { name: "rate", label: "Runs per second, at most", kind: "number", initial: "50" }],
      body: (values) => ({ ...action, ...priority(values), reason: values.reason, rate: Number(values.rate), expected: found.count }),
      cli: (values) => `bulk ${verb}${options(filter)}${verb === "prioritize" ? option("priority", values.priority) : ""}${option("tenant", tenant)} --expect ${found.count} --rate ${values.rate}${option("reason", values.reason)}`,
      role: "operator",
      isDangerous: verb === "cancel",
      typed: String(found.count),
      done: () => `${LABELS[verb]}: ${plural(found.count, "run")}, as a run of its own.`,
      after: (reply: { execution: string }) => go(to(["runs", reply.execution])),
    });
  } catch (error) {
    tell(error instanceof Problem ? error.message : String(error), "danger");
  }
}
