"""Flows that are valid, and what they may refer to."""

from __future__ import annotations

from holdfast.host.flows.known import Known, Operation

SUPPORT = """
id: support
type: messaging
title: Customer support
start: hello
vars:
  name: {default: ""}
  tries: {default: 0}
limits: {nodes_per_turn: 50, time_per_turn: 1m}
nodes:
  hello:
    emit: {text: "Hello {{ user.name | default('there') }}. Order status or a person?"}
    out: choice
  choice:
    wait: {timeout: 2d, on_timeout: bye}
    out:
      - {when: "input.text == 'order'", to: number}
      - {when: "input.text.contains('person')", to: agent}
      - {to: hello}
  number:
    ask:
      text: Which order?
      answer: {type: string, pattern: "^[A-Z][0-9]+$"}
      retries: 2
      invalid: "An order is a letter and digits."
    set: {name: "{{ prev }}"}
    out: lookup
  lookup:
    call: {component: orders, operation: find, input: {id: "{{ nodes.number }}"}}
    retry: {max_attempts: 3, initial_ms: 200}
    timeout: 10s
    on_error: sorry
    out:
      - {when: "prev.status == 'open' && vars.tries < 3", to: again}
      - {to: show}
  again:
    set: {tries: "{{ vars.tries + 1 }}"}
    out: lookup
  show:
    emit:
      - {text: "Order {{ nodes.number }} is {{ nodes.lookup.status }}."}
      - {data: {total: "{{ nodes.lookup.total | default(0) }}"}}
    when: "has(nodes.lookup.status)"
    out: choice
  agent:
    approval:
      title: "Talk to {{ activity.user }}?"
      approvers: [ops]
      timeout: 1h
      on_timeout: sorry
    out:
      - {when: prev.approved, to: bye}
      - {to: sorry}
  sorry: {emit: {text: Sorry.}, out: bye}
  bye: {goto: {flow: goodbye}}
"""

GOODBYE = """
id: goodbye
type: messaging
internal: true
nodes:
  summary:
    flow: {flow: batch, input: {orders: [1, 2], since: "{{ now - duration('2d') }}"}}
    out: bye
  bye: {emit: {text: "Bye. {{ size(prev.done) }} orders."}, out: last}
  last: {end: {result: {done: "{{ prev.done }}"}}}
"""

BATCH = """
id: batch
type: job
input:
  type: object
  required: [orders]
  properties: {orders: {type: array, items: {type: integer}}, since: {type: string}}
nodes:
  all:
    each:
      items: "{{ input.orders }}"
      as: order
      do: {call: {component: orders, operation: find, input: {id: "{{ string(order) }}"}}}
      limit: 50
      concurrency: 2
    out: both
  both:
    parallel:
      branches:
        one: {call: {component: orders, operation: find, input: {id: "1"}}}
        two: {call: {component: orders, operation: find, input: {id: "2"}}}
      join: any
    out: model
  model:
    llm:
      model: small
      system: Be short.
      max_tokens: 50
      tools: [orders.find]
      budget: "{{ tenant }}"
    out: web
  web:
    http:
      method: POST
      url: "https://api.example.com/orders/{{ input.orders[0] }}"
      headers: {Authorization: {secret: api_key}, X-Env: "{{ env }}"}
      json: {text: "{{ nodes.model.text }}"}
    out: tell
  tell:
    provider: {type: telegram, operation: send, input: {text: "{{ nodes.web.status }}"}}
    out: done
  done: {end: {result: {done: "{{ nodes.all }}"}}}
"""

FILES = {"flows/support.yaml": SUPPORT, "flows/goodbye.yaml": GOODBYE, "flows/batch.yaml": BATCH}

KNOWN = Known(
    components={
        "orders": {
            "find": Operation(
                input={"type": "object", "properties": {"id": {"type": "string"}}},
                output={
                    "type": "object",
                    "properties": {"status": {"type": "string"}, "total": {"type": "number"}},
                },
            )
        }
    },
    models=frozenset({"small"}),
    providers={"telegram": frozenset({"send"})},
    secrets=frozenset({"api_key"}),
    http_allow=frozenset({"*.example.com"}),
)
