// Small charts, each with its numbers in words for those who do not see it.

import type { VNode } from "preact";

import { toneOf } from "./state";

/** Shares of a whole as one bar. */
export function StackedBar({ parts, label }: { parts: { name: string; value: number; tone?: string }[]; label: string }): VNode {
  const whole = parts.reduce((sum, part) => sum + part.value, 0) || 1;
  return (
    <div class="stacked" role="img" aria-label={label}>
      {parts.map(
        (part, at) =>
          part.value > 0 && (
            <span key={part.name} class={`stacked-part ${part.tone ? `tone-${part.tone}` : `hue-${at % 6}`}`} style={{ width: `${(part.value / whole) * 100}%` }} title={`${part.name}: ${part.value}`} />
          ),
      )}
    </div>
  );
}

/** How many are in each state. */
export function StateBar({ counts }: { counts: Record<string, number> }): VNode {
  const parts = Object.entries(counts).map(([name, value]) => ({ name, value, tone: toneOf(name) }));
  return <StackedBar parts={parts} label={parts.map((part) => `${part.value} ${part.name}`).join(", ")} />;
}

/** What a figure did in the last hour, as a line; its highest value is in its words. */
export function Sparkline({ values, label, tone = "accent" }: { values: readonly number[] | undefined; label: string; tone?: string }): VNode | null {
  const most = Math.max(0, ...(values ?? []));
  if (!values || values.length < 2) return null;
  const points = values.map((value, at) => `${((at / (values.length - 1)) * 100).toFixed(1)},${(22 - (most ? (value / most) * 20 : 0)).toFixed(1)}`).join(" ");
  return (
    <svg class={`spark tone-${tone}`} viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={`${label} in the last hour, at most ${most}`}>
      <polyline points={points} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
