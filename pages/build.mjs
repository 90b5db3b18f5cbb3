// Builds the pages into a folder, by default the one that the package ships.
import * as esbuild from "esbuild";

const outdir = process.argv[2] ?? "../src/holdfast/server/static";
const shared = {
  outdir,
  bundle: true,
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  // Not minified, so that people can read it and git can merge it.
  minify: false,
  legalComments: "inline",
  charset: "utf8",
  logLevel: "warning",
};

await esbuild.build({ ...shared, entryPoints: { chat: "chat/main.tsx" }, format: "esm" });
// Pages of others load it with a plain <script>.
await esbuild.build({ ...shared, entryPoints: { embed: "embed/embed.ts" }, format: "iife" });
