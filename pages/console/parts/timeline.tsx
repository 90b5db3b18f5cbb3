// The life of a run on one time axis. The server places everything and folds idle time.

import type { VNode } from "preact";

import type { AxisPartView as AxisPart, SpanView } from "../api/schemas";
import { here, pageOf, param } from "../lib/address";
import { clock, exact, span } from "../lib/time";
import { brief, capital } from "../lib/words";
import { Icon, type IconName } from "./icon";
import { toneOf } from "./state";
import { useVisible } from "./virtual";

const ICONS: Record<string, IconName> = { queue: "clock", run: "play", end: "flag", step: "flag", wait: "hand", delay: "timer", child: "fork", progress: "dots" };
const ROW = 28;
const NESTED = new Set(["step", "child", "progress"]);
const TONES: Record<string, string> = { queue: "muted", wait: "violet", delay: "muted", step: "good", progress: "accent" };

export function Timeline({ axis, spans, isWaterfall = false }: { axis: AxisPart[]; spans: SpanView[]; isWaterfall?: boolean }): VNode {
  const chosen = param("span");
  // A member of a graph waited and ran: both are in its row.
  const joins = (at: number): boolean => isWaterfall && spans[at]?.execution === spans[at + 1]?.execution;
  const rows = spans.map((one, at) => ({ one, at, before: at && joins(at - 1) ? spans[at - 1] : undefined })).filter(({ at }) => at === spans.length - 1 || !joins(at));
  const { box, look, first, end } = useVisible(rows.length, ROW);
  return (
    <div class="timeline" role="table" aria-label="Timeline" aria-rowcount={rows.length} ref={box} onScroll={look} tabIndex={0}>
      <Axis axis={axis} />
      <div role="none" style={{ height: `${first * ROW}px` }} />
      {rows.slice(first, end).map(({ one, before, at }) => (
        <Row key={at} span={one} before={before} axis={axis} depth={NESTED.has(one.type) && !isWaterfall ? 1 : 0} isChosen={chosen === String(at)} at={at} />
      ))}
      <div role="none" style={{ height: `${(rows.length - end) * ROW}px` }} />
    </div>
  );
}

function Axis({ axis }: { axis: AxisPart[] }): VNode {
  return (
    <div class="tl-row tl-axis" role="row">
      <span class="tl-label" role="columnheader">Span</span>
      <span class="tl-track" role="columnheader" aria-label="Time">
        {axis.map((part, at) => (
          <span key={at} class={part.folded ? "tl-fold" : "tl-part"} style={{ left: `${part.start * 100}%`, width: `${(part.end - part.start) * 100}%` }} title={`${exact(part.since)} to ${exact(part.until)}`}>
            {part.end - part.start > 0.09 && <i>{part.folded ? `${span(part.ms)} idle` : clock(part.since)}</i>}
          </span>
        ))}
      </span>
      <span class="tl-ms" role="columnheader">Time</span>
    </div>
  );
}

function Row({ span: one, before, axis, depth, isChosen, at }: { span: SpanView; before: SpanView | undefined; axis: AxisPart[]; depth: number; isChosen: boolean; at: number }): VNode {
  const tone = TONES[one.type] ?? (toneOf(one.state) === "plain" ? "accent" : toneOf(one.state));
  const href = one.execution ? pageOf("execution", one.execution) : null;
  const width = Math.max(0, one.end - one.start) * 100;
  const used = Object.entries(one.usage).map(([name, value]) => `${brief(value)} ${name.replaceAll("_", " ")}`).join(", ");
  const about = `${one.label}, ${span(one.ms)}${one.state ? `, ${one.state}` : ""}${used ? `, ${used}` : ""}, from ${exact(one.since)}`;
  return (
    <div class={`tl-row ${isChosen ? "chosen" : ""}`} role="row">
      <span class={`tl-label depth-${depth}`} role="cell">
        <Icon name={ICONS[one.type] ?? "dot"} />
        {href ? (
          <a class="clip" href={href} title={one.label}>{one.label}</a>
        ) : (
          <a class="clip plain" href={here({ span: isChosen ? null : String(at) })} title={one.label}>
            {one.type === "step" ? one.label : capital(one.label)}
          </a>
        )}
      </span>
      <span class="tl-track" role="cell">
        {axis.map((part, index) => part.folded && <span key={index} class="tl-hatch" style={{ left: `${part.start * 100}%`, width: `${(part.end - part.start) * 100}%` }} />)}
        {before && <span class="tl-bar tl-queue tone-muted" style={{ left: `${before.start * 100}%`, width: `${(before.end - before.start) * 100}%` }} title={`in line ${span(before.ms)}`} />}
        <span class={`tl-bar tl-${one.type} tone-${tone} ${one.until === null ? "open" : ""}`} style={{ left: `${one.start * 100}%`, width: `${width}%` }} title={about}>
          <span class="hidden">{about}</span>
        </span>
        {used && (
          <span class={`tl-used ${one.end > 0.6 ? "before" : ""}`} style={one.end > 0.6 ? { right: `${(1 - one.start) * 100}%` } : { left: `${one.end * 100}%` }}>
            {used}
          </span>
        )}
      </span>
      <span class="tl-ms num" role="cell">{span(one.ms)}</span>
      {isChosen && one.text && <p class="tl-text">{one.text}</p>}
    </div>
  );
}
