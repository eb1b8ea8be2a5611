// The packages import their schema without naming its type, which Node demands.
export async function load(url, context, nextLoad) {
  const isJson = url.endsWith(".json");
  return nextLoad(url, isJson ? { ...context, importAttributes: { type: "json" } } : context);
}
