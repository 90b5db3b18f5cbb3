// A queue: its messages, what is in flight, and its dead letters grouped by cause.

import type { VNode } from "preact";
import { useEffect } from "preact/hooks";

import type { MessageView, QueueView } from "../api/schemas";
import { option, quoted, type Action } from "../lib/action";
import { param, to } from "../lib/address";
import { call, type Reply } from "../lib/call";
import { of, useLoad } from "../lib/load";
import { scope, seesPayloads } from "../lib/session";
import { span } from "../lib/time";
import { count, phrase } from "../lib/words";
import { Button, Card, Facts, Id, Tabs, Time } from "../parts/basics";
import { Head } from "../parts/head";
import { Value } from "../parts/json";
import { seen } from "../parts/palette";
import { Show } from "../parts/show";
import { State } from "../parts/state";
import { Table } from "../parts/table";
import { figures, pauseAction, type Stats } from "./queues";

interface Facts_ {
  queue: QueueView;
  stats: Stats;
  pending: Reply<"GET /v1/queues/{name}/pending">["items"];
  messages: MessageView[];
}

export function Queue({ name }: { name: string }): VNode {
  const path = { name };
  const query = { tenant: scope.value };
  const facts = useLoad<Facts_>(
    async (signal) => {
      const [queue, stats] = await Promise.all([call("GET /v1/queues/{name}", { path, query, signal }), call("GET /v1/queues/{name}/stats", { path, query, signal })]);
      const group = queue.mode === "fanout" ? (param("group") || queue.groups[0]) : undefined;
      const about = { ...query, ...(group ? { group } : {}) };
      const [pending, messages] = await Promise.all([
        call("GET /v1/queues/{name}/pending", { path, query: { ...about, limit: 100 }, signal }),
        call("GET /v1/queues/{name}/peek", { path, query: { ...about, count: 100 }, signal }),
      ]);
      return { queue, stats, pending: pending.items, messages: messages.items };
    },
    [name, scope.value, param("group")],
    { when: of("queue") },
  );
  useEffect(() => seen(`Queue ${name}`, to(["queues", name])), [name]);
  return <Show of={facts}>{(data) => <Found facts={data} />}</Show>;
}

function Found({ facts: { queue, stats, pending, messages } }: { facts: Facts_ }): VNode {
  const numbers = figures(stats);
  return (
    <>
      <Head up={{ label: "Queues", page: "queues" }} title={queue.name} sub={<State name={queue.paused ? "paused" : "ready"} word={queue.paused ? "Paused" : "Open"} />}>
        <Button action={pauseAction(queue)} />
        {queue.takes_dead_letters && <Button action={redrive(queue, null)} />}
        <Button action={purge(queue, numbers.ready + numbers.delayed)} />
      </Head>
      <div class="run-grid">
        <Card>
          <div class="tabs-pad">
            <Tabs
              tabs={[
                ...(queue.takes_dead_letters ? [{ id: "causes", label: "Causes" }] : []),
                { id: "ready", label: "Next messages", count: messages.length },
                { id: "flight", label: "In flight", count: pending.length },
              ]}
            />
          </div>
          <Part queue={queue} pending={pending} messages={messages} />
        </Card>
        <div class="column">
          <Card title="Figures">
            <div class="pad">
              <Facts rows={(["ready", "delayed", "in_flight", "dead"] as const).map((field) => [phrase(field), count(numbers[field])] as [string, string]).concat([["Pushed", count(stats.pushed)], ["Acknowledged", count(stats.acked ?? 0)], ["Expired", count(stats.expired)], ["Purged", count(stats.purged)]])} />
            </div>
          </Card>
          <Card title="Settings">
            <div class="pad">
              <Facts
                rows={[
                  ["Tenant", queue.tenant],
                  ["Mode", queue.mode],
                  ["Attempts", queue.max_attempts],
                  ["Lock", span(queue.lock_ms)],
                  queue.dead_letter !== null && ["Dead letters to", <a class="link" href={to(["queues", queue.dead_letter])}>{queue.dead_letter}</a>],
                  queue.max_size !== null && ["At most", count(queue.max_size)],
                  queue.ttl_ms !== null && ["Kept for", span(queue.ttl_ms)],
                  ["Deduplicated for", span(queue.dedup_window_ms)],
                  queue.groups.length > 0 && ["Groups", queue.groups.join(", ")],
                  ["Created", <Time at={queue.created_at} />],
                ]}
              />
            </div>
          </Card>
        </div>
      </div>
    </>
  );
}

function Part({ queue, pending, messages }: { queue: QueueView; pending: Facts_["pending"]; messages: MessageView[] }): VNode {
  const tab = param("tab") || (queue.takes_dead_letters ? "causes" : "ready");
  if (tab === "flight")
    return pending.length ? (
      <Table
        label="In flight"
        rows={pending}
        keyOf={(row) => `${row.id} ${row.consumer}`}
        columns={[
          { id: "id", label: "Message", kind: "id", cell: (row) => <Id id={row.id} /> },
          { id: "consumer", label: "Consumer", cell: (row) => row.consumer },
          { id: "attempt", label: "Attempt", kind: "num", cell: (row) => row.attempt },
          { id: "since", label: "Since", cell: (row) => <Time at={row.since} /> },
          { id: "deadline", label: "Back in the queue", cell: (row) => <Time at={row.deadline} /> },
        ]}
      />
    ) : <p class="pad faint">No consumer holds a message.</p>;
  if (tab === "causes" && queue.takes_dead_letters) return <Causes queue={queue} messages={messages} />;
  if (!messages.length) return <p class="pad faint">No message is ready.</p>;
  return (
    <ul class="lines">
      {messages.map((message) => (
        <li key={message.id}>
          <div class="stack-s">
            <span class="line-main">
              <Id id={message.id} copy />
              {message.key && <span class="faint">key {message.key}</span>}
              {message.dead_letter && <span class="tone-danger toned">{message.dead_letter.reason}</span>}
            </span>
            {seesPayloads() ? <Value value={message.payload} /> : <span class="faint">hidden</span>}
          </div>
          <span class="line-end">
            <Time at={message.enqueued_at} />
            <span>attempt {message.attempt}</span>
            {message.dead_letter && seesPayloads() && !message.payload_base64 && <Button action={correct(queue, message, message.dead_letter.origin)} tone="slim" />}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Letters with the same origin and reason, to be sent back together. */
function Causes({ queue, messages }: { queue: QueueView; messages: MessageView[] }): VNode {
  const groups = new Map<string, MessageView[]>();
  for (const message of messages) {
    const key = `${message.dead_letter?.origin ?? ""}\n${message.dead_letter?.reason ?? "unknown"}`;
    groups.set(key, [...(groups.get(key) ?? []), message]);
  }
  if (!groups.size) return <p class="pad faint">There is no dead letter.</p>;
  return (
    <ul class="lines">
      {[...groups].map(([key, letters]) => {
        const [origin, reason] = key.split("\n") as [string, string];
        return (
          <li key={key}>
            <div class="line">
              <span class="line-main">{reason || "no reason given"}</span>
              <span class="line-sub">from {origin}, last <Time at={letters[0]!.dead_letter?.last_at} /></span>
            </div>
            <b class="num">{count(letters.length)}</b>
            <Button action={redrive(queue, { origin, reason })} tone="slim" />
          </li>
        );
      })}
    </ul>
  );
}

function redrive(queue: QueueView, filter: { origin: string; reason: string } | null): Action {
  return {
    title: filter ? `Send back letters: ${filter.reason}` : `Send all letters of ${queue.name} back`,
    verb: "Send back",
    icon: "retry",
    about: "Each message returns to the queue that it came from; its attempts start again.",
    target: "POST /v1/queues/{name}/redrive",
    path: { name: queue.name },
    query: { tenant: queue.tenant },
    fields: [
      { name: "limit", label: "At most", kind: "number", initial: "1000" },
      { name: "rate", label: "Per second", kind: "number", hint: "Empty: as fast as possible." },
    ],
    body: ({ limit, rate }) => ({ ...(filter ? { filter: { ...(filter.origin ? { origin: filter.origin } : {}), reason: filter.reason } } : {}), ...(limit ? { limit: Number(limit) } : {}), ...(rate ? { rate_per_s: Number(rate) } : {}) }),
    cli: ({ limit, rate }) => `queues redrive ${quoted(queue.name)}${option("limit", limit)}${option("rate", rate)}${option("origin", filter?.origin)}${option("reason", filter?.reason)}`,
    role: "operator",
    done: (reply: { redriven: number }) => `${count(reply.redriven)} sent back.`,
  };
}

function correct(queue: QueueView, message: MessageView, origin: string): Action {
  return {
    title: `Correct letter ${message.id}`,
    verb: "Edit and send",
    icon: "edit",
    about: `A corrected copy goes to ${origin}. The letter stays here until it is sent back or purged.`,
    target: "POST /v1/queues/{name}/messages",
    path: { name: origin },
    query: { tenant: queue.tenant },
    fields: [{ name: "payload", label: "Payload", kind: "json", initial: JSON.stringify(message.payload, null, 2), hint: "Numbers of more than 15 digits are rounded here: type them again." }],
    body: ({ payload }) => `{"items":[{"payload":${payload || "null"},"key":${JSON.stringify(message.key)}}]}`,
    cli: ({ payload }) => `queues push ${quoted(origin)} ${quoted(payload || "null")}${option("key", message.key ?? "")}`,
    role: "submitter",
    done: () => `A corrected copy is in ${origin}.`,
  };
}

function purge(queue: QueueView, size: number): Action {
  return {
    title: `Purge queue ${queue.name}`,
    verb: "Purge",
    icon: "trash",
    about: `${count(size)} messages that are not in flight are deleted. This cannot be undone.`,
    target: "POST /v1/queues/{name}/purge",
    path: { name: queue.name },
    query: { tenant: queue.tenant },
    cli: () => `queues purge ${quoted(queue.name)}`,
    role: "operator",
    isDangerous: true,
    typed: queue.name,
    done: (reply: { purged: number }) => `${count(reply.purged)} deleted.`,
  };
}
