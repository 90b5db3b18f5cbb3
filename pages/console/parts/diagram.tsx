// Nodes and edges where the server placed them. It can be moved and zoomed, and read as a list.

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Icon } from "./icon";
import { toneOf } from "./state";

export interface DiagramNode {
  key: string;
  label: string;
  note: string;
  state: string;
  href?: string | null;
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface DiagramEdge {
  from: string;
  to: string;
  points: [number, number][];
  kind?: string;
}

interface Props {
  nodes: DiagramNode[];
  edges: DiagramEdge[];
  width: number;
  height: number;
  label: string;
  chosen?: string | null;
}

/** Below this zoom, labels of large graphs are left out. */
const LABELS_FROM = 0.45;
const MANY = 300;
const PAD = 24;

export function Diagram({ nodes, edges, width, height, label, chosen }: Props): VNode {
  const box = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(nodes.length < MANY ? 1 : LABELS_FROM / 2);
  const [at, setAt] = useState({ x: 0, y: 0 });
  const drag = useRef<{ x: number; y: number } | null>(null);
  const fit = (): void => {
    const { clientWidth, clientHeight } = box.current!;
    const scale = Math.min(1, clientWidth / (width + 2 * PAD), clientHeight / (height + 2 * PAD));
    setZoom(scale);
    setAt({ x: (clientWidth - width * scale) / 2, y: Math.max(PAD * scale, (clientHeight - height * scale) / 2) });
  };
  useEffect(fit, [width, height]);
  const scale = (by: number): void => setZoom((now) => Math.max(0.05, Math.min(2, now * by)));
  const down = (event: PointerEvent): void => {
    if ((event.target as Element).closest("a")) return;
    drag.current = { x: event.clientX - at.x, y: event.clientY - at.y };
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent): void => {
    if (drag.current) setAt({ x: event.clientX - drag.current.x, y: event.clientY - drag.current.y });
  };
  const hasLabels = zoom >= LABELS_FROM || nodes.length < MANY;
  return (
    <div class="diagram" ref={box} style={{ height: `${Math.min(560, Math.max(200, height + 4 * PAD))}px` }}>
      <svg
        role="group"
        aria-label={label}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={() => (drag.current = null)}
        onWheel={(event) => {
          if (!event.ctrlKey && !event.metaKey) return;
          event.preventDefault();
          scale(event.deltaY < 0 ? 1.1 : 0.9);
        }}
      >
        <g transform={`translate(${at.x} ${at.y}) scale(${zoom})`}>
          {edges.map((edge) => (
            <g key={`${edge.from} ${edge.to} ${edge.kind ?? ""}`} class={`edge edge-${edge.kind ?? "success"}`}>
              <path d={curve(edge.points)} />
              <path class="tip" d={tip(edge.points)} />
            </g>
          ))}
          {nodes.map((node) => <Box key={node.key} node={node} isChosen={node.key === chosen} hasLabel={hasLabels} />)}
        </g>
      </svg>
      <div class="diagram-tools">
        <button type="button" class="icon-button" aria-label="Closer" onClick={() => scale(1.25)}><Icon name="plus" /></button>
        <button type="button" class="icon-button" aria-label="Further away" onClick={() => scale(0.8)}><Icon name="minus" /></button>
        <button type="button" class="icon-button" aria-label="Show all" onClick={fit}><Icon name="overview" /></button>
      </div>
    </div>
  );
}

function Box({ node, isChosen, hasLabel }: { node: DiagramNode; isChosen: boolean; hasLabel: boolean }): VNode {
  const inside = (
    <>
      <rect x={-node.w / 2} y={-node.h / 2} width={node.w} height={node.h} rx="8" />
      <rect class="node-edge" x={-node.w / 2} y={-node.h / 2} width="4" height={node.h} rx="2" />
      {hasLabel && (
        <>
          <text x={-node.w / 2 + 14} y={node.note ? -4 : 4} class="node-label">{fitted(node.label, node.w)}</text>
          {node.note && <text x={-node.w / 2 + 14} y="13" class="node-note">{fitted(node.note, node.w)}</text>}
        </>
      )}
      <title>{`${node.label} ${node.note}`}</title>
    </>
  );
  const name = `node tone-${toneOf(node.state)} ${isChosen ? "chosen" : ""}`;
  const move = `translate(${node.x} ${node.y})`;
  return node.href ? (
    <g transform={move}><a class={name} href={node.href} aria-label={`${node.label}, ${node.note || node.state}`}>{inside}</a></g>
  ) : <g class={name} transform={move}>{inside}</g>;
}

function fitted(text: string, width: number): string {
  const most = Math.max(4, Math.floor((width - 22) / 7));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** From edge to edge of the boxes, which are in layers below each other; the server gives their middles. */
export function joined(points: [number, number][], from: DiagramNode | undefined, to: DiagramNode | undefined): [number, number][] {
  if (!from || !to || points.length < 2) return points;
  const [first, ...rest] = points as [[number, number], ...[number, number][]];
  const last = rest.pop()!;
  const down = last[1] >= first[1] ? 1 : -1;
  return [[first[0], first[1] + (down * from.h) / 2], ...rest, [last[0], last[1] - down * (to.h / 2 + 2)]];
}

function curve(points: [number, number][]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first[0]} ${first[1]}`;
  let before = first;
  for (const point of rest) {
    const middle = (before[1] + point[1]) / 2;
    path += ` C${before[0]} ${middle} ${point[0]} ${middle} ${point[0]} ${point[1]}`;
    before = point;
  }
  return path;
}

/** The tip of an arrow, which comes from above, or leads back from below. */
function tip(points: [number, number][]): string {
  const [before, end] = points.slice(-2);
  if (!before || !end) return "";
  const [x, y] = end;
  const back = end[1] >= before[1] ? -7 : 7;
  return `M${x - 4} ${y + back}L${x} ${y}L${x + 4} ${y + back}z`;
}
