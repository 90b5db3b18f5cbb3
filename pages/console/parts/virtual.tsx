// A list of which only the visible rows are in the page, for ten thousand rows and more.

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { go } from "../lib/address";
import { useCursor, useKeys } from "../lib/keys";
import { Cells, Head, type Column } from "./table";

const ROW = 36;
/** Rows that are kept above and below what is visible; one that leaves at one end comes back at the other. */
const MARGIN = 12;

interface Props<T> {
  rows: T[];
  columns: Column<T>[];
  keyOf(row: T): string;
  href(row: T): string;
  label: string;
  /** How many there are, if more than are loaded. */
  total?: number | undefined;
  selected: Set<string>;
  select(keys: Set<string>): void;
  /** The end of what is loaded is near. */
  more?: (() => void) | undefined;
  /** Whether a person reads further down or has selected rows, so that new rows must wait. */
  busy(isBusy: boolean): void;
}

/** Which of the rows, all equally high, are near what a box shows. */
export function useVisible(count: number, row: number): { box: { current: HTMLDivElement | null }; look(): void; first: number; end: number; height: number } {
  const box = useRef<HTMLDivElement>(null);
  // Until the box was measured, only what is surely in sight is drawn.
  const [{ top, height, margin }, setPlace] = useState({ top: 0, height: 0.6 * innerHeight, margin: 0 });
  const look = (): void => setPlace({ top: box.current?.scrollTop ?? 0, height: box.current?.clientHeight ?? 0, margin: MARGIN });
  useEffect(() => {
    const observer = new ResizeObserver(look);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  const end = Math.min(count, Math.ceil((top + height) / row) + margin);
  return { box, look, first: Math.min(end, Math.max(0, Math.floor(top / row) - margin)), end, height };
}

export function VirtualTable<T>({ rows, columns, keyOf, href, label, total, selected, select, more, busy }: Props<T>): VNode {
  const { box, look, first, end, height } = useVisible(rows.length, ROW);
  const [at, step] = useCursor(rows, keyOf);
  useEffect(() => {
    if (more && end > rows.length - 20) more();
  }, [end, rows.length, more]);
  const move = (by: number): void => {
    const next = step(by);
    const element = box.current;
    if (!element) return;
    if (next * ROW < element.scrollTop + ROW) element.scrollTop = next * ROW - ROW;
    else if ((next + 3) * ROW > element.scrollTop + height) element.scrollTop = (next + 3) * ROW - height;
  };
  const toggle = (key: string): void => {
    const keys = new Set(selected);
    if (!keys.delete(key)) keys.add(key);
    select(keys);
  };
  useKeys([
    { keys: "j", about: "Next row", run: () => move(1) },
    { keys: "k", about: "Previous row", run: () => move(-1) },
    { keys: "x", about: "Select the row", run: () => rows[at] && toggle(keyOf(rows[at]!)) },
    { keys: "Escape", about: "Clear the selection", run: () => select(new Set()) },
    { keys: "Enter", about: "Open the row", run: () => rows[at] && go(href(rows[at]!)) },
  ]);
  const scrolled = (): void => {
    // A last event may come after the list has gone.
    look();
    busy((box.current?.scrollTop ?? 0) > ROW * 2);
  };
  const shown = [checkColumn(keyOf, selected, toggle), ...columns];
  return (
    <div class="virtual" ref={box} onScroll={scrolled} tabIndex={0} role="region" aria-label={label}>
      <table class="table fixed" aria-label={label} aria-rowcount={total ?? rows.length}>
        <Head columns={shown} />
        <tbody>
          {first > 0 && <tr aria-hidden="true" style={{ height: `${first * ROW}px` }} />}
          {rows.slice(first, end).map((row, index) => {
            const key = keyOf(row);
            const name = `${first + index === at ? "chosen" : ""} ${selected.has(key) ? "selected" : ""}`;
            return (
              <tr key={(first + index) % 200} class={name} aria-rowindex={first + index + 2}>
                <Cells row={row} columns={shown} />
              </tr>
            );
          })}
          {end < rows.length && <tr aria-hidden="true" style={{ height: `${(rows.length - end) * ROW}px` }} />}
        </tbody>
      </table>
    </div>
  );
}

function checkColumn<T>(keyOf: (row: T) => string, selected: Set<string>, toggle: (key: string) => void): Column<T> {
  return {
    id: "check",
    label: "Select",
    kind: "actions",
    drop: "narrow",
    width: "2.25rem",
    cell: (row) => <input type="checkbox" checked={selected.has(keyOf(row))} onChange={() => toggle(keyOf(row))} aria-label={`Select ${keyOf(row)}`} />,
  };
}
