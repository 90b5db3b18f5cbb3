// Nodes and edges where the server placed them. It can be moved and zoomed, and read as a list.

import { Component, type VNode } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

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
  useLayoutEffect(fit, [width, height]);
  const ways = useMemo(() => drawn(edges), [edges]);
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
          {ways}
          {nodes.map(({ key, ...node }) => <Box key={key} {...node} isChosen={key === chosen} hasLabel={hasLabels} />)}
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

/** All edges of a kind are one path: a thousand paths take longer to draw. */
function drawn(edges: DiagramEdge[]): VNode[] {
  return Object.entries(Object.groupBy(edges, (edge) => edge.kind ?? "success")).map(([kind, ways = []]) => (
    <g key={kind} class={`edge edge-${kind}`}>
      <path d={ways.map((way) => curve(way.points)).join("")} />
      <path class="tip" d={ways.map((way) => tip(way.points)).join("")} />
    </g>
  ));
}

type BoxProps = Omit<DiagramNode, "key"> & { isChosen: boolean; hasLabel: boolean };

/** Drawn again only when it has changed. From afar, it is the colour of its state. */
class Box extends Component<BoxProps> {
  override shouldComponentUpdate(next: BoxProps): boolean {
    return Object.entries(next).some(([name, value]) => value !== this.props[name as keyof BoxProps]);
  }

  override render({ label, note, state, href, x, y, w, h, isChosen, hasLabel }: BoxProps): VNode {
    const Shape = (href ? "a" : "g") as "g";
    return (
      <Shape class={`node tone-${toneOf(state)} ${isChosen ? "chosen" : ""} ${hasLabel ? "" : "far"}`} transform={`translate(${x} ${y})`} {...(href && { href, "aria-label": `${label}, ${note || state}` })}>
        <rect x={-w / 2} y={-h / 2} width={w} height={h} rx="8" />
        {hasLabel && <rect class="node-edge" x={-w / 2} y={-h / 2} width="4" height={h} rx="2" />}
        {hasLabel && <text x={14 - w / 2} y={note ? -4 : 4} class="node-label">{fitted(label, w)}</text>}
        {hasLabel && note && <text x={14 - w / 2} y="13" class="node-note">{fitted(note, w)}</text>}
        <title>{`${label} ${note}`}</title>
      </Shape>
    );
  }
}

function fitted(text: string, width: number): string {
  const most = Math.max(4, Math.floor((width - 22) / 7));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** From edge to edge of the boxes, which are in layers below each other; the server gives their middles. */
export function joined(points: [number, number][], from: { h: number } | undefined, to: { h: number } | undefined): [number, number][] {
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
