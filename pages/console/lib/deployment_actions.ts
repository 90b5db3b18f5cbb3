// What can be done to deployments, revisions and rollouts.

import type { DeploymentView, RevisionView, RolloutView } from "../api/schemas";
import { option, quoted, REASON, type Action } from "./action";
import { percent } from "./words";

export interface Place {
  env: string;
  d: string;
  tenant: string;
}

const MINUTES = 60_000;

function from(where: Place): string {
  return where.env === "local" ? "" : ` --env ${quoted(where.env)}`;
}

export function rollbackAction(where: Place, deployment: DeploymentView): Action {
  const past = deployment.past.map((split) => `${split.generation}: ${split.entries.map((entry) => `${entry.revision} ${percent(entry.weight_bps)}`).join(", ")}`);
  const generation = (text: string | undefined): string => (text ?? "").split(":")[0]!;
  return {
    title: `Roll ${where.d} back`,
    verb: "Roll back",
    icon: "retry",
    about: "New sessions go by an earlier split; sessions that have begun stay where they are.",
    target: "POST /v1/envs/{env}/deployments/{d}/rollback",
    path: { env: where.env, d: where.d },
    query: { tenant: where.tenant },
    fields: [{ name: "to", label: "To the split of generation", kind: "select", options: past, initial: past[0] ?? "" }],
    body: ({ to }) => ({ to_generation: Number(generation(to)) }),
    cli: ({ to }) => `split rollback ${quoted(where.d)} --to ${generation(to)}${from(where)}`,
    role: "operator",
    isDangerous: true,
    done: () => `${where.d} is rolled back.`,
  };
}

export function lifecycleActions(where: Place, revision: RevisionView): Action[] {
  const path = { env: where.env, d: where.d, r: revision.id };
  const make = (verb: "warm" | "archive", label: string, icon: string, about: string): Action => ({
    title: `${label} revision ${revision.id}`,
    verb: label,
    icon,
    about,
    target: `POST /v1/envs/{env}/deployments/{d}/revisions/{r}/${verb}`,
    path,
    query: { tenant: where.tenant },
    cli: () => `revisions ${verb} ${quoted(where.d)} ${quoted(revision.id)}${from(where)}`,
    role: "operator",
    done: () => `${revision.id}: ${verb}.`,
  });
  if (revision.lifecycle === "staged") return [make("warm", "Warm", "sun", "Hosts load it and judge its gates.")];
  if (revision.lifecycle === "inactive") return [make("archive", "Archive", "archive", "It is kept for the record only.")];
  return [];
}

export function drainAction(where: Place, revision: RevisionView, weight: number, forecast = "nothing needs it"): Action[] {
  if (revision.lifecycle !== "ready" || weight > 0) return [];
  return [
    {
      title: `Drain revision ${revision.id}`,
      verb: "Drain",
      icon: "timer",
      about: `It starts nothing more. ${revision.waiting} conversations wait on it and ${revision.running} run; without a deadline they end by themselves: ${forecast}.`,
      target: "POST /v1/envs/{env}/deployments/{d}/revisions/{r}/drain",
      path: { env: where.env, d: where.d, r: revision.id },
      query: { tenant: where.tenant },
      fields: [{ name: "minutes", label: "Deadline in minutes", kind: "number", hint: "Empty: none. What waits longer moves to another revision or ends." }],
      body: ({ minutes }) => (minutes ? { deadline_ms: Number(minutes) * MINUTES } : {}),
      cli: ({ minutes }) => `drain ${quoted(where.d)} ${quoted(revision.id)}${minutes ? ` --deadline ${minutes}m` : ""}${from(where)}`,
      role: "operator",
      isDangerous: true,
      done: () => `${revision.id} drains.`,
    },
  ];
}

/** Steps such as `5%:10m,100%`, as the command takes them. */
const UNITS: Record<string, number> = { s: 1_000, m: MINUTES, h: 60 * MINUTES, d: 1_440 * MINUTES };

export function startRollout(where: Place, revision: RevisionView, deployment: DeploymentView): Action[] {
  if (revision.lifecycle !== "ready" || !deployment.split.entries.length || deployment.split.entries.some((entry) => entry.revision === revision.id && entry.weight_bps === 10_000)) return [];
  const steps = (text: string | undefined): object[] =>
    (text ?? "").split(",").map((part) => {
      const [, share, amount, unit] = /^\s*([\d.]+)\s*%?(?::(\d+)([smhd]))?\s*$/.exec(part) ?? [];
      return { weight_bps: Math.round(Number(share) * 100), duration_ms: amount ? Number(amount) * UNITS[unit!]! : 0 };
    });
  const number = (text: string | undefined, factor = 1): number | null => (text?.trim() ? Math.round(Number(text) * factor) : null);
  return [
    {
      title: `Roll out ${revision.id}`,
      verb: "Roll out",
      icon: "up",
      about: "New sessions go to it step by step, as long as it is not worse than what serves now; sessions that have begun stay where they are.",
      target: "POST /v1/envs/{env}/deployments/{d}/rollouts",
      path: { env: where.env, d: where.d },
      query: { tenant: where.tenant },
      fields: [
        { name: "steps", label: "Steps", kind: "text", initial: "5%:10m,25%:10m,50%:10m,100%", hint: "Shares of new sessions, and how long each lasts; without a time, until it is promoted." },
        { name: "turns", label: "Judge after turns", kind: "number", initial: "20" },
        { name: "errors", label: "Error rate, points higher at most", kind: "number", initial: "2", hint: "Empty: no limit." },
        { name: "latency", label: "p95 in percent of the old one, at most", kind: "number", initial: "150", hint: "Empty: no limit." },
      ],
      body: (values) => ({
        revision: revision.id,
        steps: steps(values.steps),
        guards: { min_turns: Number(values.turns), error_rate_bps: number(values.errors, 100), p95_percent: number(values.latency) },
        expected_generation: deployment.split.generation,
      }),
      cli: (values) => `rollout start ${quoted(where.d)} ${quoted(revision.id)}${option("steps", values.steps)}${option("min-turns", values.turns)}${option("error-rate", values.errors ? `${values.errors}%` : "off")}${option("latency", values.latency ? `${values.latency}%` : "off")}${from(where)}`,
      role: "operator",
      done: () => `${revision.id} is rolled out.`,
    },
  ];
}

export function rolloutActions(where: Place, rollout: RolloutView): Action[] {
  const make = (verb: "pause" | "continue" | "promote" | "abort", label: string, icon: string, about: string): Action => {
    const hasReason = verb === "pause" || verb === "abort";
    return {
      title: `${label} the rollout of ${rollout.revision}`,
      verb: label,
      icon,
      about,
      target: `POST /v1/envs/{env}/deployments/{d}/rollouts/{o}/${verb}`,
      path: { env: where.env, d: where.d, o: rollout.id },
      query: { tenant: where.tenant },
      ...(hasReason ? { fields: [REASON], body: ({ reason }: Record<string, string>) => ({ reason }) } : {}),
      cli: (values) => `rollout ${verb} ${quoted(where.d)}${hasReason ? option("reason", values.reason) : ""}${from(where)}`,
      role: "operator",
      isDangerous: verb === "abort",
      done: () => `Rollout: ${verb}.`,
    };
  };
  return [
    rollout.state === "paused" ? make("continue", "Continue", "play", "It goes on with the step that it is in.") : make("pause", "Pause", "pause", "It stays in its step until it is continued."),
    make("promote", "Promote", "up", "All new sessions go to the new revision now."),
    make("abort", "Abort", "slash", "The split before the rollout returns."),
  ];
}
