"use strict";
(() => {
  // design/colour.ts
  var HEX = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i;
  function inkOn(colour) {
    const digits = colour.length === 4 ? colour.slice(1).replace(/./g, "$&$&") : colour.slice(1);
    const [red, green, blue] = [0, 2, 4].map((at) => {
      const value = parseInt(digits.slice(at, at + 2), 16) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    return luminance > 0.179 ? "#000000" : "#ffffff";
  }

  // embed/embed.ts
  var LOOKS = ["title", "greeting", "placeholder", "theme", "accent", "radius", "font", "lang", "dir"];
  var STYLE = `
:host { all: initial; position: fixed; z-index: 2147483000; inset-block-end: 20px; inset-inline-end: 20px;
  --accent: #2f4fd0; --ink: #fff; font: 15px/1.4 system-ui, sans-serif; }
:host([data-position="left"]) { inset-inline: 20px auto; }
button { position: relative; display: grid; place-items: center; width: 56px; height: 56px; padding: 0; border: 0;
  border-radius: 50%; background: var(--accent); color: var(--ink); cursor: pointer;
  box-shadow: 0 4px 16px rgb(10 12 18 / 25%); }
button:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
svg { width: 26px; height: 26px; fill: none; stroke: currentcolor; stroke-width: 1.75; stroke-linecap: round;
  stroke-linejoin: round; }
span { position: absolute; inset-block-start: -4px; inset-inline-end: -4px; min-width: 22px; padding-inline: 6px;
  border-radius: 11px; background: #b3261e; color: #fff; font-size: 13px; line-height: 22px; text-align: center; }
iframe { position: fixed; inset-block-end: 88px; inset-inline-end: 20px; width: 400px; height: min(640px, 100vh - 108px);
  border: 0; border-radius: 16px; box-shadow: 0 12px 48px rgb(10 12 18 / 30%); color-scheme: normal; }
:host([data-position="left"]) iframe { inset-inline: 20px auto; }
@media (max-width: 480px) { iframe { inset: 0; width: 100%; height: 100%; border-radius: 0; } }
[hidden] { display: none; }`;
  function start(script2) {
    const data = script2.dataset;
    const server = new URL(script2.src);
    const name = [data.env ?? "local", data.deployment ?? ""].map(encodeURIComponent).join("/");
    const looks = new URLSearchParams({ host: location.origin });
    for (const look of LOOKS) if (data[look]) looks.set(look, data[look]);
    const page = new URL(`${name}#${looks}`, server);
    const root = document.createElement("holdfast-chat");
    if (data.position) root.dataset.position = data.position;
    const shadow = root.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    shadow.adoptedStyleSheets = [sheet];
    if (data.accent && HEX.test(data.accent)) {
      root.style.setProperty("--accent", data.accent);
      root.style.setProperty("--ink", inkOn(data.accent));
    }
    const label = data.title ?? "Chat";
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    icon.setAttribute("viewBox", "0 0 24 24");
    icon.setAttribute("aria-hidden", "true");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", "M20 11.5a7.5 7.5 0 0 1-7.5 7.5H5l1.6-2.9A7.5 7.5 0 1 1 20 11.5z");
    icon.append(path);
    const badge = document.createElement("span");
    badge.hidden = true;
    button.append(icon, badge);
    let frame = null;
    let isReady = false;
    let isOpen = false;
    let seen = -1;
    const waiting = [];
    const handlers = /* @__PURE__ */ new Map();
    const emit = (event, detail) => handlers.get(event)?.forEach((one) => one(detail));
    const post = (message) => {
      if (isReady) frame.contentWindow.postMessage(message, server.origin);
      else waiting.push(message);
    };
    const load = () => {
      if (frame) return;
      frame = document.createElement("iframe");
      frame.title = label;
      frame.src = page.href;
      frame.hidden = true;
      shadow.append(frame);
    };
    const unread = (count) => {
      badge.hidden = !count;
      badge.textContent = String(count);
      const words = isOpen ? `Close ${label}` : `Open ${label}`;
      button.setAttribute("aria-label", count ? `${words}, ${count} new` : words);
    };
    const show = (open) => {
      if (open === isOpen) return;
      load();
      isOpen = open;
      frame.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
      unread(0);
      if (open) post({ holdfast: "focus" });
      else button.focus();
      emit(open ? "open" : "close");
    };
    addEventListener("message", (event) => {
      if (!frame || event.source !== frame.contentWindow || event.origin !== server.origin) return;
      const { holdfast, number } = event.data ?? {};
      if (holdfast === "ready") {
        isReady = true;
        waiting.splice(0).forEach(post);
      } else if (holdfast === "close") show(false);
      else if (holdfast === "reply" && typeof number === "number") {
        if (seen >= 0 && number > seen && !isOpen) unread(Number(badge.textContent) + 1);
        if (number > seen) seen = number;
        emit("reply", number);
      }
    });
    addEventListener("keydown", (event) => event.key === "Escape" && show(false));
    button.addEventListener("click", () => show(!isOpen));
    unread(0);
    shadow.append(button);
    document.body.append(root);
    return {
      open: () => show(true),
      close: () => show(false),
      toggle: () => show(!isOpen),
      send: (text) => {
        load();
        post({ holdfast: "send", text });
      },
      on: (event, handler) => void handlers.set(event, [...handlers.get(event) ?? [], handler])
    };
  }
  var script = document.currentScript;
  if (script instanceof HTMLScriptElement) {
    const run = () => {
      window.holdfastChat = start(script);
    };
    if (document.body) run();
    else addEventListener("DOMContentLoaded", run);
  }
})();
