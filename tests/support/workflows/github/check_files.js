// Validates workflow and action files with GitHub's language service. Prints their faults as JSON.
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

register("./json_imports.js", import.meta.url);
const { validate } = await import("@actions/languageservice");
const { TextDocument } = await import("vscode-languageserver-textdocument");

const faults = [];
for (const name of process.argv.slice(2)) {
  const root = name.slice(0, name.lastIndexOf(".github"));
  const getFileContent = async ({ path }) => ({ name: path, content: readFileSync(join(root, path), "utf8") });
  const content = readFileSync(name, "utf8");
  const document = TextDocument.create(pathToFileURL(name).href, "yaml", 1, content);
  for (const { range, message } of await validate(document, { fileProvider: { getFileContent } })) {
    faults.push(`${name}:${range.start.line + 1}: ${message}`);
  }
}
console.log(JSON.stringify(faults));
