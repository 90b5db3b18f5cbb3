// Cards: simple ones with a title, and a documented subset of Adaptive Cards.

import type { ComponentChild, TargetedSubmitEvent, VNode } from "preact";

import { Icon } from "./icons";
import { isAddress, linked, Markdown, Plain } from "./markdown";
import { objectOf, textOf } from "./schema";
import type { Json, JsonObject } from "./types";
import { words } from "./words";

interface Props {
  card: JsonObject;
  open: boolean;
  sent: Json | undefined;
  send(data: JsonObject, text: string): void;
}

export function Card(props: Props): VNode {
  return Array.isArray(props.card.body) ? <AdaptiveCard {...props} /> : <SimpleCard card={props.card} />;
}

function SimpleCard({ card }: { card: JsonObject }): VNode {
  const links = listOf(card.links);
  const title = textOf(card.title);
  const rest = Object.entries(card).filter(
    ([name, value]) => !SIMPLE.has(name) && ["string", "number", "boolean"].includes(typeof value),
  );
  const facts = [...listOf(card.facts), ...rest.map(([title, value]) => ({ title, value: String(value) }))];
  return (
    <div class="card">
      <Picture address={card.image} label={title} />
      {title && <p class="card-title">{title}</p>}
      {textOf(card.subtitle) && <p class="note">{textOf(card.subtitle)}</p>}
      {textOf(card.text) && <Plain text={textOf(card.text)} />}
      <Facts facts={facts} />
      {isAddress(card.url) && <OpenLink address={card.url} label={textOf(card.label) || words.open} />}
      {links.map((link, at) => (
        <OpenLink key={at} address={link.url} label={textOf(link.label)} />
      ))}
    </div>
  );
}

const SIMPLE = new Set(["title", "subtitle", "text", "image", "facts", "url", "label", "links", "type"]);

function AdaptiveCard({ card, open, sent, send }: Props): VNode {
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const button = event.submitter as HTMLButtonElement | null;
    const action = listOf(card.actions)[Number(button?.value ?? -1)] ?? {};
    const values = Object.fromEntries(
      [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)]),
    );
    send({ ...objectOf(action.data), ...values }, textOf(action.title) || words.send);
  };
  return (
    <form class="card" onSubmit={submit} noValidate>
      <fieldset disabled={!open}>
        <legend class="hidden">{textOf(card.speak) || words.card}</legend>
        {listOf(card.body).map((element, at) => (
          <Element key={at} element={element} sent={objectOf(sent)} fallback={textOf(card.fallbackText)} />
        ))}
        <div class="actions">
          {listOf(card.actions).map((action, at) =>
            action.type === "Action.OpenUrl" ? (
              <OpenLink key={at} address={action.url} label={textOf(action.title)} />
            ) : (
              action.type === "Action.Submit" && (
                <button key={at} type="submit" class="button" value={at}>
                  {textOf(action.title) || words.send}
                </button>
              )
            ),
          )}
        </div>
      </fieldset>
    </form>
  );
}

interface ElementProps {
  element: JsonObject;
  sent: JsonObject;
  fallback: string;
}

function Element({ element, sent, fallback }: ElementProps): VNode | null {
  const inside = (items: Json | undefined): ComponentChild =>
    listOf(items).map((item, at) => <Element key={at} element={item} sent={sent} fallback={fallback} />);
  switch (element.type) {
    case "TextBlock": {
      const isTitle = element.style === "heading" || element.weight === "Bolder" || element.size === "Large";
      return isTitle ? <p class="card-title">{textOf(element.text)}</p> : <Markdown text={textOf(element.text)} />;
    }
    case "RichTextBlock":
      return <p>{listOf(element.inlines).map((run) => textOf(run.text)).join("")}</p>;
    case "Image":
      return <Picture address={element.url} label={textOf(element.altText)} />;
    case "FactSet":
      return <Facts facts={listOf(element.facts)} />;
    case "Container":
    case "Column":
      return <div>{inside(element.items)}</div>;
    case "ColumnSet":
      return <div class="columns">{inside(element.columns)}</div>;
    default:
      if (textOf(element.type).startsWith("Input.") && element.id) return <Input element={element} sent={sent} />;
      return fallback ? <p class="note">{fallback}</p> : null;
  }
}

function Input({ element, sent }: { element: JsonObject; sent: JsonObject }): VNode {
  const name = textOf(element.id);
  const value = textOf(sent[name] ?? element.value);
  const label = textOf(element.label) || textOf(element.placeholder) || textOf(element.title) || name;
  const kind = textOf(element.type).slice("Input.".length);
  if (kind === "Toggle")
    return (
      <label class="option">
        <input type="checkbox" name={name} value="true" defaultChecked={value === "true"} />
        <span>{textOf(element.title) || label}</span>
      </label>
    );
  return (
    <label class="field">
      <span>{label}</span>
      {kind === "ChoiceSet" ? (
        <select name={name}>
          {listOf(element.choices).map((choice, at) => (
            <option key={at} value={textOf(choice.value)} selected={textOf(choice.value) === value}>
              {textOf(choice.title)}
            </option>
          ))}
        </select>
      ) : element.isMultiline === true ? (
        <textarea name={name} rows={3} defaultValue={value} />
      ) : (
        <input
          name={name}
          type={(kind === "Date" ? "date" : kind === "Time" ? "time" : "text") as "text"}
          inputMode={kind === "Number" ? "decimal" : undefined}
          defaultValue={value}
          dir="auto"
        />
      )}
    </label>
  );
}

function Facts({ facts }: { facts: JsonObject[] }): VNode | null {
  if (!facts.length) return null;
  return (
    <dl class="facts">
      {facts.map((fact, at) => (
        <div key={at}>
          <dt>{textOf(fact.title)}</dt>
          <dd dir="auto">{textOf(fact.value)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Pictures of this server are shown; to those of others there is a link, so nothing is fetched. */
function Picture({ address, label }: { address: Json | undefined; label: string }): ComponentChild {
  if (typeof address !== "string") return null;
  const isOurs = address.startsWith("data:image/") || (/^\/(?!\/)/.test(address) && URL.canParse(address, location.href));
  if (isOurs) return <img class="picture" src={address} alt={label} loading="lazy" />;
  return linked(address, label ? `${words.picture}: ${label}` : words.picture, null);
}

function OpenLink({ address, label }: { address: Json | undefined; label: string }): VNode | null {
  if (!isAddress(address)) return null;
  return (
    <a class="button" href={address} target="_blank" rel="noopener noreferrer nofollow">
      {label || words.open}
      <Icon name="out" />
    </a>
  );
}

function listOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}
