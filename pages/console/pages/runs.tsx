// Runs: every execution, with filters in the address and a reason for whatever does not run.

import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";

import { go, here, param, to } from "../lib/address";
import { all, call } from "../lib/call";
import { kept } from "../lib/choices";
import { csv, save } from "../lib/files";
import { clear, query, tokens, unknownParams } from "../lib/filters";
import { of, useLoad } from "../lib/load";
import { useRuns, type Row, type Runs as Rows } from "../lib/runs";
import { scope, tenant } from "../lib/session";
import { tell } from "../lib/toasts";
import { brief, count, middle, phrase } from "../lib/words";
import { Id, Span, Tags, Time } from "../parts/basics";
import { AllMatching, Bulk } from "../parts/bulk";
import { Head } from "../parts/head";
import { FilterBar } from "../parts/filterbar";
import { Icon } from "../parts/icon";
import { Empty, Failed, Loading, Notice } from "../parts/show";
import { ENDED, RUN_STATES, State, toneOf } from "../parts/state";
import type { Column } from "../parts/table";
import { VirtualTable } from "../parts/virtual";
import { Views } from "../parts/views";

const COLUMNS: Column<Row>[] = [
  { id: "state", label: "State", width: "8.75rem", cell: (row) => <State name={row.state} /> },
  { id: "kind", label: "Task", width: "13rem", cell: (row) => <a class="strong" href={to(["runs", row.id])} title={row.kind}>{row.kind}</a> },
  { id: "id", label: "Id", width: "11.500rem", drop: "wide", cell: (row) => <Id id={row.id} href={to(["runs", row.id])} most={18} /> },
  { id: "why", label: "Why", drop: "narrow", cell: (row) => <Why row={row} /> },
  { id: "tags", label: "Tags", width: "12%", drop: "medium", cell: (row) => <Tags tags={row.tags} /> },
  { id: "tenant", label: "Tenant", width: "7rem", drop: "medium", cell: (row) => row.tenant },
  { id: "lane", label: "Lane", width: "5.500rem", drop: "wide", cell: (row) => row.lane },
  { id: "worker", label: "Worker", width: "9rem", drop: "medium", cell: (row) => (row.worker ? middle(row.worker, 18) : "") },
  { id: "attempts", label: "Tries", width: "4rem", kind: "num", drop: "wide", cell: (row) => row.attempts },
  { id: "priority", label: "Priority", width: "5rem", kind: "num", drop: "medium", cell: (row) => row.priority },
  { id: "time", label: "Time", width: "5.500rem", kind: "num", drop: "narrow", cell: (row) => <Span from={row.started_at ?? row.created_at} until={row.completed_at} /> },
  { id: "created", label: "Created", width: "5.500rem", kind: "num", cell: (row) => <Time at={row.created_at} /> },
];
const chosen = kept("columns", ["state", "kind", "id", "why", "lane", "attempts", "time", "created"]);
const STATES = RUN_STATES as readonly string[];

function Why({ row }: { row: Row }): VNode {
  const error = row.error as { type?: string; message?: string } | null;
  if (error?.type && row.state !== "completed")
    return (
      <span class="why" title={error.message}>
        <b class="tone-danger toned">{error.type}</b> {error.message}
      </span>
    );
  const words = row.why ?? (row.progress.message || (ENDED.has(row.state) ? row.reason : ""));
  return (
    <span class="why faint" title={words ?? ""}>
      {row.progress.pct !== null && row.state === "active" && <b class="num">{Math.round(row.progress.pct)} % </b>}
      {words}
    </span>
  );
}

export function Runs(): VNode {
  const [isScrolled, setScrolled] = useState(false);
  const [selected, setSelected] = useState<Set<string>>(new Set());
  const filter = query();
  const runs = useRuns(filter, isScrolled || selected.size > 0);
  const counts = useLoad((signal) => call("GET /v1/counts", { query: { tenant: scope.value }, signal }), [scope.value], { when: of("execution") });
  const known = counts.data?.items ?? [];
  const values = useMemo(() => ({ state: [...STATES], kind: [...new Set(known.map((item) => item.kind))].sort(), lane: [...new Set(known.map((item) => item.lane))].sort(), order: ["oldest"] }), [counts.data]);
  const states: Record<string, number> = {};
  for (const item of known) if ((!filter.kind || item.kind === filter.kind) && (!filter.kind_prefix || item.kind.startsWith(filter.kind_prefix)) && (!filter.lane || item.lane === filter.lane)) states[item.state] = (states[item.state] ?? 0) + item.count;
  const columns = COLUMNS.filter((column) => chosen.value.includes(column.id) || (column.id === "tenant" && !tenant.value && new Set(known.map((item) => item.tenant)).size > 1));
  const unknown = unknownParams(["tenant", "columns"]);
  return (
    <div class="fill">
      <Head title="Runs">
        <Views page="runs" />
        <Columns />
        <Export filter={filter} />
        <a class="button primary" href={to(["new"])}><Icon name="plus" /> New run</a>
      </Head>
      <FilterBar values={values} words={["state", "kind", "lane", "tag", "error", "id", "since", "until", "graph", "parent", "order", "text"]} />
      {unknown.length > 0 && <p class="problem small">The address has parameters that this page does not know: {unknown.join(", ")}.</p>}
      <StateStrip counts={states} />
      <section class="card fill">
        {selected.size > 0 && <Bulk selected={selected} done={() => setSelected(new Set())} rows={runs.rows} />}
        {runs.fresh > 0 && (isScrolled || selected.size > 0) && (
          <button type="button" class="fresh" onClick={runs.reload}><Icon name="up" /> {count(runs.fresh)} new</button>
        )}
        <List runs={runs} columns={columns} selected={selected} select={setSelected} scrolled={setScrolled} />
        <footer class="list-foot">
          <span aria-live="polite">{runs.total ? `${runs.total.text} runs` : `${count(runs.rows.length)}${runs.more ? "+" : ""} runs`}</span>
          {runs.rows.length > 0 && (
            <button type="button" class="link" onClick={() => setSelected(new Set(runs.rows.map((row) => row.id)))}>Select all {count(runs.rows.length)} that are loaded</button>
          )}
          {runs.total && runs.rows.length > 0 && tokens().length > 0 && <AllMatching total={runs.total.text} />}
        </footer>
      </section>
    </div>
  );
}

interface ListProps {
  runs: Rows;
  columns: Column<Row>[];
  selected: Set<string>;
  select(keys: Set<string>): void;
  scrolled(is: boolean): void;
}

function List({ runs, columns, selected, select, scrolled }: ListProps): VNode {
  if (!runs.rows.length) {
    if (runs.isLoading) return <Loading rows={12} />;
    if (runs.problem) return <Failed problem={runs.problem} retry={runs.reload} />;
    if (tokens().length)
      return (
        <Notice icon="search" title="No run fits these filters">
          <button type="button" class="button" onClick={clear}>Clear the filters</button>
        </Notice>
      );
    return (
      <Empty icon="runs" title="Nothing has run yet" command={'holdfast submit hello --input \'{"name": "Ann"}\''}>
        A run is one execution of a task: it is durable, and its page says what it does and why it waits.
      </Empty>
    );
  }
  return <VirtualTable rows={runs.rows} columns={columns} keyOf={(row) => row.id} href={(row) => to(["runs", row.id])} label="Runs" total={runs.total?.count} selected={selected} select={select} more={runs.more} busy={scrolled} />;
}

/** How many are in each state; each is a filter. */
function StateStrip({ counts }: { counts: Record<string, number> }): VNode {
  const active = new Set(param("state").split(",").filter(Boolean));
  const toggled = (state: string): string => {
    const states = new Set(active);
    if (!states.delete(state)) states.add(state);
    return here({ state: STATES.filter((one) => states.has(one)).join(",") || null });
  };
  return (
    <nav class="strip" aria-label="States">
      <a href={here({ state: null })} aria-current={active.size ? undefined : "true"}>All</a>
      {STATES.map((state) => (
        <a key={state} href={toggled(state)} aria-current={active.has(state) ? "true" : undefined} class={`tone-${toneOf(state)} ${counts[state] ? "" : "none"}`}>
          {phrase(state)} <b>{brief(counts[state] ?? 0)}</b>
        </a>
      ))}
    </nav>
  );
}

function Columns(): VNode {
  return (
    <details class="menu-box">
      <summary class="button"><Icon name="columns" /> Columns</summary>
      <div class="menu-list">
        {COLUMNS.map((column) => (
          <label key={column.id} class="field check">
            <input type="checkbox" checked={chosen.value.includes(column.id)} onChange={(event) => (chosen.value = COLUMNS.map((one) => one.id).filter((id) => (id === column.id ? event.currentTarget.checked : chosen.value.includes(id))))} />
            <span>{column.label}</span>
          </label>
        ))}
      </div>
    </details>
  );
}

const MOST_EXPORTED = 10_000;
const FIELDS = ["id", "tenant", "kind", "lane", "state", "attempts", "priority", "created_at", "started_at", "completed_at", "worker", "why"] as const;

/** What the filters match, as a file. */
function Export({ filter }: { filter: Record<string, string> }): VNode {
  const write = async (type: string): Promise<void> => {
    const rows = await all((cursor) => call("GET /v1/executions", { query: { ...filter, tenant: scope.value, limit: 500, why: true, ...(cursor ? { cursor } : {}) } }), MOST_EXPORTED);
    save(type === "csv" ? csv(rows, FIELDS) : JSON.stringify(rows, null, 2), `runs.${type}`);
    tell(`${count(rows.length)} runs saved${rows.length >= MOST_EXPORTED ? "; there are more" : ""}.`, "good");
  };
  return (
    <details class="menu-box">
      <summary class="button"><Icon name="download" /> Export</summary>
      <div class="menu-list">
        {["csv", "json"].map((type) => (
          <button key={type} type="button" class="link" onClick={() => void write(type)}>All that match, as {type.toUpperCase()}</button>
        ))}
        <button type="button" class="link" onClick={() => go(here({ order: param("order") ? null : "oldest" }))}>{param("order") ? "Newest first" : "Oldest first"}</button>
      </div>
    </details>
  );
}
