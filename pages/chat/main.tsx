// The web chat.

import { render } from "preact";

import { App } from "./app";
import "./chat.css";
import { Conversation } from "./conversation";
import { Host } from "./host";
import { applySettings, readSettings } from "./settings";

const settings = readSettings(location.hash, location.pathname);
applySettings(settings, document.documentElement);
const chat = new Conversation();
const host = new Host(settings.host, chat);
const root = document.createElement("div");
root.id = "chat";
document.body.append(root);
render(<App chat={chat} host={host} settings={settings} />, root);
void chat.begin();
