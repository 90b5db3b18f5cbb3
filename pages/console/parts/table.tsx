// Tables: real ones, with rows that keys can choose and open.

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { go } from "../lib/address";
import { useCursor, useKeys } from "../lib/keys";
import { count } from "../lib/words";

export interface Column<T> {
  id: string;
  label: string;
  cell(row: T): ComponentChildren;
  /** num: figures, at the right; id: monospace. */
  kind?: "num" | "id" | "grow" | "actions";
  /** Where it is left out: on phones, in small windows too, or wherever space is short. */
  drop?: "narrow" | "medium" | "wide";
  width?: string;
}

/** More rows are shown on demand. */
const SHOWN = 100;

interface TableProps<T> {
  rows: T[];
  columns: Column<T>[];
  keyOf(row: T): string;
  /** Where a row leads. */
  href?: (row: T) => string;
  label: string;
  chosen?: string;
}

export function Table<T>({ rows, columns, keyOf, href, label, chosen }: TableProps<T>): VNode {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? rows : rows.slice(0, SHOWN);
  const [at, move] = useCursor(shown, keyOf);
  const body = useRef<HTMLTableSectionElement>(null);
  useKeys(
    href
      ? [
          { keys: "j", about: "Next row", run: () => move(1) },
          { keys: "k", about: "Previous row", run: () => move(-1) },
          { keys: "Enter", about: "Open the row", run: () => shown[at] && go(href(shown[at]!)) },
        ]
      : [],
  );
  useEffect(() => {
    body.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <div class="table-box">
      <table class="table" aria-label={label}>
        <Head columns={columns} />
        <tbody ref={body}>
          {shown.map((row, index) => (
            <tr key={keyOf(row)} class={index === at || keyOf(row) === chosen ? "chosen" : ""}><Cells row={row} columns={columns} /></tr>
          ))}
        </tbody>
      </table>
      {shown.length < rows.length && <button type="button" class="button" onClick={() => setWhole(true)}>{`Show all ${count(rows.length)}`}</button>}
    </div>
  );
}

export function Head<T>({ columns }: { columns: Column<T>[] }): VNode {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th key={column.id} scope="col" class={`col-${column.kind ?? "text"} drop-${column.drop ?? "never"}`} style={column.width ? { width: column.width } : undefined}>
            {column.kind === "actions" ? <span class="hidden">{column.label}</span> : column.label}
          </th>
        ))}
      </tr>
    </thead>
  );
}

export function Cells<T>({ row, columns }: { row: T; columns: Column<T>[] }): VNode {
  return (
    <>
      {columns.map((column) => (
        <td key={column.id} class={`col-${column.kind ?? "text"} drop-${column.drop ?? "never"}`}>{column.cell(row)}</td>
      ))}
    </>
  );
}
