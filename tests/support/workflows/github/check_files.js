// Reads workflow and action files with GitHub's parser. Prints their faults, and the conditions of
// jobs and steps as GitHub completes them, as JSON.
import { readFileSync } from "node:fs";
import { register } from "node:module";

register("./json_imports.js", import.meta.url);
const parser = await import("@actions/workflow-parser");
const { parseAction } = await import("@actions/workflow-parser/actions/action-parser");

const faults = [];
const conditions = {};
for (const name of process.argv.slice(2)) {
  const file = { name, content: readFileSync(name, "utf8") };
  const isAction = /action\.ya?ml$/.test(name);
  const parse = isAction ? parseAction : parser.parseWorkflow;
  const { context, value } = parse(file, new parser.NoOperationTraceWriter());
  if (value && !isAction) {
    const { jobs = [] } = await parser.convertWorkflowTemplate(context, value);
    conditions[name] = jobs.flatMap((job) => [job, ...(job.steps ?? [])]).map((part) => part.if.expression);
  }
  faults.push(...context.errors.getErrors().map((error) => `${name}: ${error.message}`));
}
console.log(JSON.stringify({ faults, conditions }));
