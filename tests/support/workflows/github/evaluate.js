// Each line of stdin is {known, status, expressions} as JSON. Prints a line: the kind and the text
// of each expression's value, as JSON.
import { createInterface } from "node:readline";
import { Evaluator, Lexer, Parser, data, wellKnownFunctions } from "@actions/expressions";

function evaluate(expression, known, functions) {
  const { tokens } = new Lexer(expression).lex();
  const tree = new Parser(tokens, Object.keys(known), functions).parse();
  const context = wellKnownFunctions.fromjson.call(new data.StringData(JSON.stringify(known)));
  const table = new Map(functions.map((each) => [each.name, each]));
  const found = new Evaluator(tree, context, table).evaluate();
  return [found.kind, found.primitive ? found.coerceString() : null];
}

function answer(expression, known, functions) {
  try {
    return evaluate(expression, known, functions);
  } catch (error) {
    return ["error", error.message];
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { known, status, expressions } = JSON.parse(line);
  const functions = Object.entries(status).map(([name, value]) => ({
    name,
    minArgs: 0,
    maxArgs: 0,
    call: () => new data.BooleanData(value),
  }));
  console.log(JSON.stringify(expressions.map((expression) => answer(expression, known, functions))));
}
