// A new run: the task, and the fields of its schema.

import type { VNode } from "preact";
import { useState } from "preact/hooks";

import type { JsonObject } from "../../chat/types";
import { option, quoted } from "../lib/action";
import { go, here, param, to } from "../lib/address";
import { addressOf, call, Problem, send } from "../lib/call";
import { parse } from "../lib/exact";
import { useLoad } from "../lib/load";
import { may, scope } from "../lib/session";
import { tell } from "../lib/toasts";
import { Card, Commands, Tabs } from "../parts/basics";
import { Form } from "../parts/form";
import { Head } from "../parts/head";
import { Value } from "../parts/json";
import { Empty, Refused, Show } from "../parts/show";

interface Task {
  name: string;
  description: string;
  input: JsonObject | null;
}

export function NewRun(): VNode {
  const tasks = useLoad((signal) => call("GET /v1/tasks", { query: { tenant: scope.value }, signal }), [scope.value]);
  return (
    <>
      <Head up={{ label: "Runs", page: "runs" }} title="New run" />
      <Show
        of={tasks}
        empty={(data) =>
          data.items.length ? null : (
            <Empty icon="runs" title="No worker has published a task" command="holdfast worker app:app">
              A task appears here when a worker that runs it has started once.
            </Empty>
          )
        }
      >
        {(data) => <Submit tasks={data.items.map((item) => item as unknown as Task)} />}
      </Show>
    </>
  );
}

function Submit({ tasks }: { tasks: Task[] }): VNode {
  const task = tasks.find((one) => one.name === param("kind")) ?? tasks[0]!;
  const schema = task.input;
  const hasFields = !!schema && Object.keys((schema.properties ?? {}) as object).length > 0;
  const isJson = !hasFields || param("as") === "json";
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const submit = async (input: string): Promise<void> => {
    if (input.trim() && !parse(input)) return setProblem(new Problem(0, "not_json", "The input is not JSON.", ""));
    const body = `{"kind":${JSON.stringify(task.name)}${scope.value ? `,"tenant":${JSON.stringify(scope.value)}` : ""}${input.trim() ? `,"input":${input}` : ""}}`;
    try {
      const response = await send("POST", addressOf("POST /v1/executions"), body);
      const { id } = (await response.json()) as { id: string };
      tell(`Submitted ${task.name}.`, "good");
      go(to(["runs", id]));
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, "page_failed", String(error), ""));
    }
  };
  const command = `holdfast submit ${quoted(task.name)}${option("input", isJson ? text : "…")}`;
  return (
    <div class="run-grid">
      <Card title="Input">
        <div class="pad stack answer">
          <label class="field">
            <span>Task</span>
            <select value={task.name} onChange={(event) => go(here({ kind: event.currentTarget.value }), { replace: true })}>
              {tasks.map((one) => <option key={one.name}>{one.name}</option>)}
            </select>
            {task.description && <p class="hint">{task.description}</p>}
          </label>
          {hasFields && <Tabs name="as" tabs={[{ id: "form", label: "Form" }, { id: "json", label: "JSON" }]} />}
          {isJson ? (
            <>
              <label class="field">
                <span>Input in JSON</span>
                <textarea class="mono" rows={10} value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} />
              </label>
              <div class="buttons">
                <button type="button" class="button primary" disabled={!may("submitter") && !may("operator")} onClick={() => void submit(text)}>
                  Submit
                </button>
              </div>
            </>
          ) : (
            <Form key={task.name} schema={schema!} verb="Submit" isAllowed={may("submitter") || may("operator")} problem={problem} send={(data) => void submit(JSON.stringify(data))} />
          )}
          <Refused problem={problem} />
          <Commands texts={[command]} />
        </div>
      </Card>
      <Card title="What the task says">
        <div class="pad"><Value value={task} /></div>
      </Card>
    </div>
  );
}
