// What can be done to a run.

import type { ExecutionView, ExecutionsStepView } from "../api/schemas";
import { option, quoted, REASON, type Action } from "./action";
import { go, to } from "./address";
import { me } from "./session";
import { plural } from "./words";

const ENDED = new Set(["completed", "failed", "cancelled", "expired", "skipped"]);

export function runActions(run: ExecutionView, steps: ExecutionsStepView[], input: string): Action[] {
  const path = { id: run.id };
  const id = quoted(run.id);
  const actions: Action[] = [];
  if (!ENDED.has(run.state))
    actions.push({
      title: `Cancel run ${run.id}`,
      verb: "Cancel run",
      icon: "slash",
      about: run.state === "active" ? `It ends at once. Worker ${run.worker} learns it at its next call.` : "It ends at once and never runs again, unless it is replayed.",
      target: "POST /v1/executions/{id}/cancel",
      path,
      fields: [REASON],
      body: ({ reason }) => ({ reason }),
      cli: ({ reason }) => `cancel ${id}${option("reason", reason)}`,
      role: "operator",
      isDangerous: true,
      done: () => `Cancelled ${run.kind}.`,
    });
  if (run.state === "suspended")
    actions.push({
      title: `Resume run ${run.id}`,
      verb: "Resume",
      icon: "play",
      about: "It continues as if its wait were over; the payload is what it gets as the answer.",
      target: "POST /v1/executions/{id}/resume",
      path,
      fields: [{ name: "payload", label: "Payload", kind: "json", hint: "JSON, or empty." }],
      body: ({ payload }) => (payload?.trim() ? `{"payload":${payload}}` : {}),
      cli: ({ payload }) => `resume ${id}${option("payload", payload)}`,
      role: "operator",
    });
  if (ENDED.has(run.state)) {
    const names = steps.map((step) => step.name);
    actions.push({
      title: `Replay run ${run.id}`,
      verb: "Replay",
      icon: "retry",
      about: "The same run starts again with the same input. Recorded steps are dropped, unless you keep some.",
      target: "POST /v1/executions/{id}/replay",
      path,
      fields: [...(names.length ? [{ name: "from", label: "Steps", kind: "select" as const, options: ["drop all", "keep all", ...names.map((name) => `from ${name}`)], hint: "From a step: that one and later ones run again." }] : []), REASON],
      body: ({ from, reason }) => ({ reason, ...(from === "keep all" ? { keep_steps: true } : from?.startsWith("from ") ? { from_step: from.slice(5) } : {}) }),
      cli: ({ from, reason }) => `replay ${id}${from === "keep all" ? " --keep-steps" : from?.startsWith("from ") ? option("from-step", from.slice(5)) : ""}${option("reason", reason)}`,
      role: "operator",
      done: () => `${run.kind} runs again.`,
    });
  }
  actions.push({
    title: `Edit and resubmit ${run.kind}`,
    verb: "Edit and resubmit",
    icon: "edit",
    about: "A new run with this input; it names this one as its origin.",
    target: "POST /v1/executions/{id}/resubmit",
    path,
    fields: [{ name: "input", label: "Input", kind: "json", initial: input }],
    body: ({ input: text }) => (text?.trim() ? `{"input":${text}}` : {}),
    cli: ({ input: text }) => `resubmit ${id}${option("input", text)}`,
    role: "submitter",
    done: () => "Submitted again.",
    after: (reply: { id: string }) => go(to(["runs", reply.id])),
  });
  if (run.state === "active")
    actions.push({
      title: `Take run ${run.id} from its worker`,
      verb: "Revoke lease",
      icon: "bolt",
      about: `Worker ${run.worker} loses its lease, as if it had crashed. Another attempt continues after the last recorded step.`,
      target: "POST /v1/executions/{id}/revoke-lease",
      path,
      fields: [REASON],
      body: ({ reason }) => ({ reason }),
      cli: ({ reason }) => `revoke ${id}${option("reason", reason)}`,
      role: "operator",
      isDangerous: true,
      done: () => "The lease is revoked.",
    });
  if (run.state === "active" && me.value?.features.includes("crash"))
    actions.push({
      title: `Crash the worker of ${run.id}`,
      verb: "Crash it",
      icon: "bolt",
      about: `The process of worker ${run.worker} is killed (SIGKILL), and this server with it. holdfast dev starts it again, and the run continues after its last recorded step${steps.length ? `, ${steps.at(-1)!.name}` : ""}.`,
      target: "POST /v1/dev/executions/{id}/crash" as Action["target"],
      path,
      cli: () => `show ${id} # after: kill -9 ${run.worker?.split(".").at(-2) ?? "PID"}`,
      role: "operator",
      isDangerous: true,
      done: (reply: { pid: number; steps: number }) => `Killed process ${reply.pid}. The next worker has ${plural(reply.steps, "recorded step")}.`,
    });
  if (!ENDED.has(run.state))
    actions.push({
      title: `Set the priority of ${run.id}`,
      verb: "Priority",
      icon: "up",
      about: "From -1000 to 1000. A point of priority is worth a minute of waiting.",
      target: "PUT /v1/executions/{id}/priority",
      path,
      fields: [{ name: "priority", label: "Priority", kind: "number", initial: String(run.priority) }],
      body: ({ priority }) => ({ priority: Number(priority) }),
      cli: ({ priority }) => `prioritize ${id} ${priority}`,
      role: "operator",
    });
  return actions;
}
