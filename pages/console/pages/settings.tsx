// Settings: of this browser, and of the store.

import type { VNode } from "preact";

import type { RetentionView } from "../api/schemas";
import { type Action } from "../lib/action";
import { call } from "../lib/call";
import { singleKeys, theme, zone, type Theme, type Zone } from "../lib/choices";
import { useLoad } from "../lib/load";
import { me } from "../lib/session";
import { soft } from "../lib/soft";
import { exact, now, span } from "../lib/time";
import { bytes, count, phrase } from "../lib/words";
import { Button, Card, Facts, Time } from "../parts/basics";
import { Head } from "../parts/head";
import { Show } from "../parts/show";
import { Tag } from "../parts/state";
import { Table } from "../parts/table";

const DAY_MS = 86_400_000;

export function Settings(): VNode {
  const found = useLoad(
    async (signal) => {
      const [retention, streams, ring] = await Promise.all([soft(call("GET /v1/settings/retention", { signal })), soft(call("GET /v1/settings/streams", { signal })), soft(call("GET /v1/admin/keyring", { signal }))]);
      return { retention: retention?.items ?? [], streams: streams?.items ?? [], ring };
    },
    [],
  );
  return (
    <>
      <Head title="Settings" />
      <div class="columns">
        <Card title="This browser">
          <div class="pad stack">
            <Choice label="Theme" value={theme.value} options={["auto", "light", "dark"]} change={(value) => (theme.value = value as Theme)} />
            <Choice label="Times" value={zone.value} options={["local", "utc"]} change={(value) => (zone.value = value as Zone)} />
            <p class="hint">Now: {exact(now.value)}</p>
            <label class="field check">
              <input type="checkbox" checked={singleKeys.value} onChange={(event) => (singleKeys.value = event.currentTarget.checked)} />
              <span>Single keys do something, such as j and k</span>
            </label>
          </div>
        </Card>
        <Card title="You and this server">
          <div class="pad">
            <Facts
              rows={[
                ["Version", me.value?.version],
                ["Access", me.value?.access === "open" ? "open: no key is needed on this machine" : "by API key"],
                ["Key", me.value?.key ? `${me.value.name ?? ""} ${me.value.key}` : "none"],
                ["Tenant", me.value?.key_tenant ?? "all"],
                ["Roles", me.value?.roles.map((role) => <Tag key={role}>{role}</Tag>)],
                !!me.value?.session_expires_at && ["Session until", <Time at={me.value.session_expires_at} />],
                ["Features", me.value?.features.map((name) => <Tag key={name}>{phrase(name)}</Tag>)],
              ]}
            />
          </div>
        </Card>
      </div>
      <Show of={found}>
        {({ retention, streams, ring }) => (
          <>
            {retention.length > 0 && (
              <Card title="How long ended runs are kept">
                <Table
                  label="Retention"
                  rows={retention}
                  keyOf={(row) => row.tenant ?? ""}
                  columns={[
                    { id: "tenant", label: "Tenant", cell: (row) => row.tenant ?? "all" },
                    ...["completed", "failed", "cancelled", "expired", "skipped"].map((state) => ({ id: state, label: phrase(state), kind: "num" as const, drop: state === "completed" || state === "failed" ? undefined! : ("narrow" as const), cell: (row: RetentionView) => (row.keep_ms[state] === undefined ? "–" : span(row.keep_ms[state]!)) })),
                    { id: "act", label: "Actions", kind: "actions", cell: (row) => <Button action={setRetention(row)} tone="slim" /> },
                  ]}
                />
              </Card>
            )}
            {streams.length > 0 && (
              <Card title="How much a stream keeps">
                <Table
                  label="Streams"
                  rows={streams}
                  keyOf={(row) => row.tenant ?? ""}
                  columns={[
                    { id: "tenant", label: "Tenant", cell: (row) => row.tenant ?? "all" },
                    { id: "frames", label: "Frames", kind: "num", cell: (row) => (row.frames === null ? "–" : count(row.frames)) },
                    { id: "bytes", label: "Size", kind: "num", cell: (row) => (row.bytes === null ? "–" : bytes(row.bytes)) },
                    { id: "age", label: "Age", kind: "num", cell: (row) => (row.age_ms === null ? "–" : span(row.age_ms)) },
                    { id: "tails", label: "Readers", kind: "num", cell: (row) => (row.tails === null ? "–" : count(row.tails)) },
                  ]}
                />
              </Card>
            )}
            {ring && (
              <Card title="Keys that sign tokens">
                <Table
                  label="Signing keys"
                  rows={ring.keys}
                  keyOf={(row) => row.kid}
                  columns={[
                    { id: "kid", label: "Key", cell: (row) => <code>{row.kid}</code> },
                    { id: "state", label: "Use", cell: (row) => (row.kid === ring.current ? <Tag tone="good">signs</Tag> : <Tag>verifies</Tag>) },
                    { id: "fingerprint", label: "Fingerprint", drop: "narrow", cell: (row) => <code>{row.fingerprint}</code> },
                    { id: "until", label: "Until", cell: (row) => <Time at={row.until} /> },
                  ]}
                />
              </Card>
            )}
          </>
        )}
      </Show>
    </>
  );
}

function Choice({ label, value, options, change }: { label: string; value: string; options: string[]; change(value: string): void }): VNode {
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option}>
          <input type="radio" name={label} checked={option === value} onChange={() => change(option)} />
          <span>{option === "utc" ? "UTC" : phrase(option)}</span>
        </label>
      ))}
    </fieldset>
  );
}

function setRetention(setting: RetentionView): Action {
  const states = ["completed", "failed"];
  return {
    title: `Change how long runs of ${setting.tenant ?? "all tenants"} are kept`,
    verb: "Change",
    icon: "edit",
    target: "PUT /v1/settings/retention",
    fields: states.map((state) => ({ name: state, label: `${phrase(state)}, days`, kind: "number" as const, initial: setting.keep_ms[state] === undefined ? "" : String(setting.keep_ms[state]! / DAY_MS) })),
    body: (values) => ({ ...(setting.tenant ? { tenant: setting.tenant } : {}), keep_ms: Object.fromEntries(states.filter((state) => values[state]).map((state) => [state, Number(values[state]) * DAY_MS])) }),
    cli: (values) => `retention set${setting.tenant ? ` --tenant ${setting.tenant}` : ""}${states.filter((state) => values[state]).map((state) => ` ${state}=${values[state]}d`).join("")}`,
    role: "admin",
    done: () => "The retention is changed.",
  };
}
