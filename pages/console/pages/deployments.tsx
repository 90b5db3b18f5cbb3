// Deployments: which revisions of a pack or an app answer whom.

import type { VNode } from "preact";

import type { DeploymentView } from "../api/schemas";
import { here, param, to } from "../lib/address";
import { call } from "../lib/call";
import { of, useLoad } from "../lib/load";
import { scope } from "../lib/session";
import { count, percent } from "../lib/words";
import { Card, Time } from "../parts/basics";
import { StackedBar } from "../parts/chart";
import { Head } from "../parts/head";
import { Empty, Show } from "../parts/show";
import { Table } from "../parts/table";

export function Split({ deployment }: { deployment: DeploymentView }): VNode {
  const parts = deployment.split.entries.map((entry) => ({ name: entry.revision, value: entry.weight_bps }));
  const words = parts.map((part) => `${part.name} ${percent(part.value)}`).join(", ");
  return parts.length ? (
    <span class="split-cell">
      <StackedBar parts={parts} label={words} />
      <span class="faint small">{words}</span>
    </span>
  ) : <span class="faint">no revision serves</span>;
}

export function Deployments(): VNode {
  const env = param("env") || "local";
  const found = useLoad(
    async (signal) => {
      const [envs, deployments] = await Promise.all([call("GET /v1/envs", { signal }), call("GET /v1/envs/{env}/deployments", { path: { env }, query: { tenant: scope.value, limit: 200 }, signal })]);
      return { envs: envs.items.map((one) => one.name), deployments: deployments.items };
    },
    [scope.value, env],
    { when: of("deployment") },
  );
  return (
    <>
      <Head title="Deployments" sub="A deployment routes new sessions to revisions by weight. Sessions that have begun stay where they are." />
      <Show of={found}>
        {({ envs, deployments }) => (
          <>
            {envs.length > 1 && (
              <nav class="strip" aria-label="Environments">
                {envs.map((name) => (
                  <a key={name} href={here({ env: name === "local" ? null : name })} aria-current={name === env ? "true" : undefined}>{name}</a>
                ))}
              </nav>
            )}
            {deployments.length ? (
              <Card>
                <Table
                  label="Deployments"
                  rows={deployments}
                  keyOf={(row) => `${row.tenant} ${row.id}`}
                  href={(row) => to(["deployments", row.env, row.id])}
                  columns={[
                    { id: "id", label: "Deployment", cell: (row) => <a class="strong" href={to(["deployments", row.env, row.id])}>{row.id}</a> },
                    { id: "pack", label: "Pack or app", drop: "narrow", cell: (row) => row.pack ?? row.app },
                    { id: "split", label: "Split", kind: "grow", cell: (row) => <Split deployment={row} /> },
                    { id: "revisions", label: "Revisions", kind: "num", drop: "medium", cell: (row) => row.revisions.length },
                    { id: "held", label: "Run or wait", kind: "num", drop: "narrow", cell: (row) => count(row.revisions.reduce((sum, one) => sum + one.running + one.waiting, 0)) },
                    { id: "tenant", label: "Tenant", drop: "medium", cell: (row) => row.tenant },
                    { id: "at", label: "Split since", kind: "num", drop: "medium", cell: (row) => <Time at={row.split.at} /> },
                  ]}
                />
              </Card>
            ) : (
              <Empty icon="deployment" title={`Nothing is deployed to ${env}`} command="holdfast deploy examples/packs/support">
                A deployment makes a pack or an app answer people.
              </Empty>
            )}
          </>
        )}
      </Show>
    </>
  );
}
