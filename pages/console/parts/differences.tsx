// What differs between two things, as the server compared them.

import type { VNode } from "preact";

import type { DifferenceView } from "../api/schemas";
import type { Loaded } from "../lib/load";
import { plural } from "../lib/words";
import { Value } from "./json";
import { Show } from "./show";
import { Tag } from "./state";
import { Table } from "./table";

const TONES: Record<string, "good" | "danger" | "warn"> = { added: "good", removed: "danger", changed: "warn" };

export function Differences({ of }: { of: Loaded<{ items: DifferenceView[]; total: number }> }): VNode {
  return (
    <Show of={of} rows={3} empty={(data) => (data.total ? null : <p class="pad faint">They do not differ.</p>)}>
      {(data) => (
        <>
          <Table
            label="Differences"
            rows={data.items}
            keyOf={(row) => row.path.join("/")}
            columns={[
              { id: "change", label: "Change", width: "7rem", drop: "narrow", cell: (row) => <Tag tone={TONES[row.change]!}>{row.change}</Tag> },
              { id: "path", label: "Where", cell: (row) => <code class="wrap">{row.path.join(" › ")}</code> },
              { id: "before", label: "Before", width: "36%", cell: (row) => row.change !== "added" && <Side value={row.before} /> },
              { id: "after", label: "After", width: "36%", cell: (row) => row.change !== "removed" && <Side value={row.after} /> },
            ]}
          />
          {data.total > data.items.length && <p class="pad faint">{plural(data.total, "difference")} in all.</p>}
        </>
      )}
    </Show>
  );
}

function Side({ value }: { value: unknown }): VNode {
  return typeof value === "object" && value !== null ? <Value value={value} /> : <code class="wrap">{typeof value === "string" ? value : JSON.stringify(value)}</code>;
}
