// Small charts, each with its numbers in words for those who do not see it.

import type { VNode } from "preact";

import { toneOf } from "./state";

interface SparkProps {
  values: (number | null)[];
  label: string;
  tone?: string;
  width?: number;
  height?: number;
}

/** A line over time; a gap where nothing is known. */
export function Sparkline({ values, label, tone = "accent", width = 120, height = 28 }: SparkProps): VNode {
  const most = Math.max(1, ...values.map((value) => value ?? 0));
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const y = (value: number): number => height - 2 - (value / most) * (height - 4);
  const runs: string[] = [];
  let run: string[] = [];
  values.forEach((value, at) => {
    if (value === null) {
      if (run.length) runs.push(run.join(" "));
      run = [];
    } else run.push(`${(at * step).toFixed(1)},${y(value).toFixed(1)}`);
  });
  if (run.length) runs.push(run.join(" "));
  return (
    <svg class={`spark tone-${tone}`} viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {runs.map((points) => (
        <g key={points.slice(0, 16)}>
          <polygon points={`${points.split(" ")[0]!.split(",")[0]},${height} ${points} ${points.split(" ").at(-1)!.split(",")[0]},${height}`} />
          <polyline points={points} />
        </g>
      ))}
    </svg>
  );
}

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
