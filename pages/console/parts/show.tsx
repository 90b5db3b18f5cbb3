// The six states of what a page shows: loading, empty, filtered to nothing, forbidden, failed, stale.

import type { ComponentChildren, VNode } from "preact";

import type { Problem } from "../lib/call";
import type { Loaded } from "../lib/load";
import { ago } from "../lib/time";
import { Copy } from "./basics";
import { Icon, type IconName } from "./icon";

interface ShowProps<T> {
  of: Loaded<T>;
  /** What to say when there is nothing; return null if there is something. */
  empty?: (data: T) => VNode | null;
  children: (data: T) => ComponentChildren;
  rows?: number;
}

export function Show<T>({ of, empty, children, rows = 6 }: ShowProps<T>): VNode {
  if (of.data === undefined) {
    if (of.problem) return <Failed problem={of.problem} retry={of.reload} />;
    return <Loading rows={rows} />;
  }
  return (
    <>
      {of.problem && <Stale problem={of.problem} at={of.at} retry={of.reload} />}
      {empty?.(of.data) ?? children(of.data)}
    </>
  );
}

export function Loading({ rows = 6 }: { rows?: number }): VNode {
  return (
    <div class="loading" aria-busy="true" role="status">
      <span class="hidden">Loading</span>
      {Array.from({ length: rows }, (_, at) => <span key={at} class="bone" />)}
    </div>
  );
}

export function Notice({ icon, title, children, tone = "plain" }: { icon: IconName; title: string; children?: ComponentChildren; tone?: string }): VNode {
  return (
    <div class={`notice tone-${tone}`}>
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Nothing is there: what it would be, and the command that makes one. */
export function Empty({ icon, title, children, command }: { icon: IconName; title: string; children?: ComponentChildren; command?: string }): VNode {
  return (
    <Notice icon={icon} title={title}>
      {children && <p>{children}</p>}
      {command && <Command text={command} />}
    </Notice>
  );
}

export function Command({ text }: { text: string }): VNode {
  return (
    <div class="command">
      <code>{text}</code>
      <Copy text={text} label="Copy command" />
    </div>
  );
}

export function Failed({ problem, retry }: { problem: Problem; retry?: () => void }): VNode {
  if (problem.isForbidden)
    return (
      <Notice icon="lease" title="You may not see this" tone="warn">
        <p>{problem.message}</p>
        <ProblemFacts problem={problem} />
      </Notice>
    );
  if (problem.status === 404)
    return (
      <Notice icon="search" title="There is no such thing">
        <p>{problem.message}</p>
        <ProblemFacts problem={problem} />
      </Notice>
    );
  return (
    <Notice icon="cause" title={problem.isLost ? "The server cannot be reached" : "This could not be read"} tone="danger">
      <p>{problem.message}</p>
      <ProblemFacts problem={problem} />
      {retry && (
        <button type="button" class="button" onClick={retry}>
          <Icon name="retry" /> Try again
        </button>
      )}
    </Notice>
  );
}

/** Why the server did not do what was asked. */
export function Refused({ problem }: { problem: Problem | null }): VNode | null {
  if (!problem) return null;
  return (
    <div class="problem" role="alert">
      {problem.message}
      <ProblemFacts problem={problem} />
    </div>
  );
}

export function ProblemFacts({ problem }: { problem: Problem }): VNode {
  return (
    <p class="faint small">
      <code>{problem.code}</code>
      {problem.status > 0 && ` · HTTP ${problem.status}`}
      {problem.request && (
        <>
          {" · request "}
          <code>{problem.request}</code>
          <Copy text={problem.request} label="Copy request id" />
        </>
      )}
    </p>
  );
}

function Stale({ problem, at, retry }: { problem: Problem; at: number; retry: () => void }): VNode {
  return (
    <div class="stale" role="status">
      <Icon name="cause" />
      <span>Shown as of {ago(at)}: {problem.message}</span>
      <button type="button" class="link" onClick={retry}>Try again</button>
    </div>
  );
}
