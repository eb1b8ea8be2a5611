// Reads workflow and action files with GitHub's parser. Prints their faults as JSON.
import { readFileSync } from "node:fs";
import { register } from "node:module";

register("./json_imports.js", import.meta.url);
const parser = await import("@actions/workflow-parser");
const { parseAction } = await import("@actions/workflow-parser/actions/action-parser");

const faults = [];
for (const name of process.argv.slice(2)) {
  const file = { name, content: readFileSync(name, "utf8") };
  const isAction = /action\.ya?ml$/.test(name);
  const parse = isAction ? parseAction : parser.parseWorkflow;
  const { context, value } = parse(file, new parser.NoOperationTraceWriter());
  if (value && !isAction) {
    await parser.convertWorkflowTemplate(context, value);
  }
  faults.push(...context.errors.getErrors().map((error) => `${name}: ${error.message}`));
}
console.log(JSON.stringify(faults));
