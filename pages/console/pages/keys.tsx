// API keys: who may call, for which tenant, with which roles.

import { signal } from "@preact/signals";
import type { VNode } from "preact";

import type { KeyView } from "../api/schemas";
import { option, quoted, type Action } from "../lib/action";
import { param } from "../lib/address";
import { call } from "../lib/call";
import { useLoad } from "../lib/load";
import { now } from "../lib/time";
import { Button, Card, Copy, Id, Time } from "../parts/basics";
import { Dialog } from "../parts/dialog";
import { Head } from "../parts/head";
import { Empty, Show } from "../parts/show";
import { State, Tag } from "../parts/state";
import { Table } from "../parts/table";

const DAY_MS = 86_400_000;
/** A new key's secret, which is shown once. */
const made = signal<{ id: string; secret: string } | null>(null);

export function Keys(): VNode {
  const found = useLoad((abort) => call("GET /v1/keys", { signal: abort }), [], { every: 15_000 });
  return (
    <>
      <Head title="API keys" sub="A key belongs to one tenant, or to an operator of all, and has roles. The server checks them at every call.">
        <Button action={create()} tone="primary" />
      </Head>
      <Show
        of={found}
        empty={(data) =>
          data.items.length ? null : (
            <Empty icon="key" title="There is no key" command="holdfast keys create --role admin">
              Until there is one, this server answers only on this machine, and every caller acts as the operator. With the first key, callers without one are refused.
            </Empty>
          )
        }
      >
        {(data) => (
          <Card>
            <Table
              label="Keys"
              rows={data.items}
              keyOf={(row) => row.id}
              chosen={param("id")}
              columns={[
                { id: "name", label: "Name", cell: (row) => <b class="strong">{row.name || "unnamed"}</b> },
                { id: "id", label: "Id", kind: "id", drop: "narrow", cell: (row) => <Id id={row.id} copy /> },
                { id: "state", label: "State", cell: (row) => <State name={stateOf(row) === "live" ? "live" : "ended"} word={{ live: "Valid", revoked: "Revoked", expired: "Expired" }[stateOf(row)]!} /> },
                { id: "tenant", label: "Tenant", cell: (row) => row.tenant ?? "all" },
                { id: "roles", label: "Roles", cell: (row) => <span class="buttons">{row.roles.map((role) => <Tag key={role}>{role}</Tag>)}</span> },
                { id: "payloads", label: "Payloads", drop: "medium", cell: (row) => row.payloads },
                { id: "used", label: "Last used", kind: "num", drop: "narrow", cell: (row) => <Time at={row.last_used_at} /> },
                { id: "expires", label: "Expires", kind: "num", drop: "medium", cell: (row) => <Time at={row.expires_at} /> },
                { id: "created", label: "Created", kind: "num", drop: "medium", cell: (row) => <Time at={row.created_at} /> },
                { id: "act", label: "Actions", kind: "actions", cell: (row) => stateOf(row) === "live" && <Button action={revoke(row)} tone="slim" /> },
              ]}
            />
          </Card>
        )}
      </Show>
      {made.value && (
        <Dialog title="The key" close={() => (made.value = null)}>
          <p class="about">Copy it now. The server keeps only its digest, so it is never shown again.</p>
          <div class="command">
            <code>{made.value.secret}</code>
            <Copy text={made.value.secret} label="Copy key" />
          </div>
        </Dialog>
      )}
    </>
  );
}

function stateOf(key: KeyView): string {
  if (key.revoked_at) return "revoked";
  return key.expires_at && Date.parse(key.expires_at) < now.value ? "expired" : "live";
}

function create(): Action {
  return {
    title: "Create an API key",
    verb: "Create key",
    icon: "plus",
    target: "POST /v1/keys",
    fields: [
      { name: "name", label: "Name", kind: "text", hint: "What it is for." },
      { name: "role", label: "Role", kind: "select", options: ["viewer", "submitter", "worker", "operator", "admin"], initial: "viewer" },
      { name: "payloads", label: "Payloads", kind: "select", options: ["redacted", "none", "all"], initial: "redacted", hint: "What it sees of inputs, results and messages." },
      { name: "tenant", label: "Tenant", kind: "text", hint: "Empty: all tenants." },
      { name: "days", label: "Expires after days", kind: "number", hint: "Empty: never." },
    ],
    body: ({ name, role, payloads, tenant, days }) => ({ name, roles: [role], payloads, ...(tenant ? { tenant } : {}), ...(days ? { ttl_ms: Number(days) * DAY_MS } : {}) }),
    cli: ({ name, role, payloads, tenant, days }) => `keys create --role ${role} --payloads ${payloads}${option("name", name)}${option("tenant", tenant)}${days ? ` --ttl ${days}d` : ""}`,
    role: "admin",
    done: () => "The key is created.",
    after: (reply: { id: string; secret: string }) => (made.value = reply),
  };
}

function revoke(key: KeyView): Action {
  return {
    title: `Revoke key ${key.name || key.id}`,
    verb: "Revoke",
    icon: "slash",
    about: "Every server refuses it within 5 seconds. This cannot be undone.",
    target: "DELETE /v1/keys/{key}",
    path: { key: key.id },
    cli: () => `keys revoke ${quoted(key.id)}`,
    role: "admin",
    isDangerous: true,
    done: () => "The key is revoked.",
  };
}
