// The split editor: weights that always make 10,000 basis points, and what they will mean.

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { DeploymentView } from "../api/schemas";
import { ask } from "../lib/action";
import type { Place } from "../lib/deployment_actions";
import { may } from "../lib/session";
import { exact } from "../lib/time";
import { count, percent, plural } from "../lib/words";
import { Card } from "./basics";
import { StackedBar } from "./chart";

const WHOLE = 10_000;
const PRESETS = [100, 500, 2_500, 5_000, 10_000];

export function SplitEditor({ where, deployment, forecasts }: { where: Place; deployment: DeploymentView; forecasts: Record<string, string> }): VNode {
  const before = Object.fromEntries(deployment.split.entries.map((entry) => [entry.revision, entry.weight_bps]));
  const choices = deployment.revisions.filter((one) => one.lifecycle === "ready");
  const [weights, setWeights] = useState<Record<string, number>>(before);
  useEffect(() => setWeights(before), [deployment.split.generation]);
  if (!choices.length) return <Card title="Split"><p class="pad faint">No revision is ready to serve.</p></Card>;
  const set = (id: string, value: number): void => setWeights(balanced(choices.map((one) => one.id), weights, id, value));
  const isChanged = choices.some((one) => (weights[one.id] ?? 0) !== (before[one.id] ?? 0));
  const entries = choices.filter((one) => (weights[one.id] ?? 0) > 0).map((one) => ({ revision: one.id, weight_bps: weights[one.id]! }));
  const save = (): void =>
    ask({
      title: `Change the split of ${where.d}`,
      verb: "Change",
      about: foretold(deployment, weights, forecasts).join(" "),
      target: "PUT /v1/envs/{env}/deployments/{d}/split",
      path: { env: where.env, d: where.d },
      query: { tenant: where.tenant },
      body: () => ({ entries, expected_generation: deployment.split.generation }),
      cli: () => `split set ${where.d} ${entries.map((entry) => `${entry.revision}=${entry.weight_bps / 100}`).join(" ")} --generation ${deployment.split.generation}`,
      role: "operator",
      done: (reply: { generation: number }) => `Generation ${reply.generation} serves.`,
    });
  return (
    <Card title="Split of new sessions">
      <div class="pad stack">
        <StackedBar parts={choices.map((one) => ({ name: one.id, value: weights[one.id] ?? 0 }))} label="Split" />
        {choices.map((one, at) => (
          <div class="split-row" key={one.id}>
            <i class={`dot hue-${at % 6}`} aria-hidden="true" />
            <span class="clip strong">{one.id}</span>
            <input type="range" min={0} max={WHOLE} step={100} value={weights[one.id] ?? 0} aria-label={`Share of ${one.id}`} aria-valuetext={percent(weights[one.id] ?? 0)} onInput={(event) => set(one.id, Number(event.currentTarget.value))} />
            <input class="bps" inputMode="numeric" value={weights[one.id] ?? 0} aria-label={`Basis points of ${one.id}`} onChange={(event) => set(one.id, Number(event.currentTarget.value) || 0)} />
            <span class="num faint">{percent(weights[one.id] ?? 0)}</span>
          </div>
        ))}
        <div class="buttons">
          <span class="faint small">{choices.at(-1)!.id}:</span>
          {PRESETS.map((value) => (
            <button key={value} type="button" class="button slim" onClick={() => set(choices.at(-1)!.id, value)}>{percent(value)}</button>
          ))}
        </div>
        {isChanged && <ul class="foretold" role="status">{foretold(deployment, weights, forecasts).map((text) => <li key={text}>{text}</li>)}</ul>}
        <div class="buttons end">
          {isChanged && <button type="button" class="button" onClick={() => setWeights(before)}>Undo</button>}
          <button type="button" class="button primary" disabled={!isChanged || !may("operator")} title={may("operator") ? "" : "Needs the role operator."} onClick={save}>Change the split</button>
        </div>
      </div>
    </Card>
  );
}

/** The others share what is left, in proportion. */
export function balanced(ids: string[], weights: Record<string, number>, id: string, wanted: number): Record<string, number> {
  const value = Math.max(0, Math.min(WHOLE, Math.round(wanted)));
  const others = ids.filter((one) => one !== id);
  if (!others.length) return { [id]: WHOLE };
  const sum = others.reduce((total, one) => total + (weights[one] ?? 0), 0);
  const next: Record<string, number> = { [id]: value };
  let rest = WHOLE - value;
  others.forEach((one, at) => {
    const share = at === others.length - 1 ? rest : Math.min(rest, Math.round((WHOLE - value) * (sum ? (weights[one] ?? 0) / sum : 1 / others.length)));
    next[one] = share;
    rest -= share;
  });
  return next;
}

/** What will happen, before it does. */
function foretold(deployment: DeploymentView, weights: Record<string, number>, forecasts: Record<string, string>): string[] {
  const lines = deployment.revisions.filter((one) => (weights[one.id] ?? 0) > 0).map((one) => `From now on about ${percent(weights[one.id]!)} of new sessions go to ${one.id}.`);
  for (const one of deployment.revisions)
    if (!weights[one.id] && (one.waiting || one.running)) lines.push(`${plural(one.waiting, "conversation")} that wait on ${one.id}, and ${count(one.running)} that run, stay there until they end${one.deadline_at ? `, or until ${exact(one.deadline_at)}` : ""}: ${forecasts[one.id]}.`);
  lines.push("Nobody is moved.");
  return lines;
}
