// Lambda's runtime interface client, as far as a function needs it (AWS Lambda developer guide, "Using the Lambda runtime
// API", 2026-10): fetch an event, call the handler, post the answer or the error.
import process from "node:process";

const { AWS_LAMBDA_RUNTIME_API: host, _HANDLER: name } = process.env;
const base = `http://${host}/2018-06-01/runtime`;
const post = (path, value, type) =>
  fetch(`${base}${path}`, {
    method: "POST",
    headers: type === undefined ? {} : { "Lambda-Runtime-Function-Error-Type": type },
    body: JSON.stringify(value),
  });
const describe = (error) => ({
  errorType: error?.name ?? "Error",
  errorMessage: error?.message ?? String(error),
  stackTrace: String(error?.stack ?? "").split("\n").slice(1),
});

let handler;
try {
  const [file, exported] = name.split("#");
  handler = (await import(file))[exported];
} catch (error) {
  await post("/init/error", describe(error), "Runtime.UserCodeError");
  process.exit(1);
}

while (true) {
  const next = await fetch(`${base}/invocation/next`);
  if (next.status === 410) break;
  const header = (key) => next.headers.get(`Lambda-Runtime-${key}`) ?? undefined;
  const awsRequestId = header("Aws-Request-Id");
  const deadline = Number(header("Deadline-Ms"));
  process.env._X_AMZN_TRACE_ID = header("Trace-Id");
  const context = {
    awsRequestId,
    invokedFunctionArn: header("Invoked-Function-Arn"),
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: process.env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: "/aws/lambda/notes",
    logStreamName: "2026/01/01/[$LATEST]0",
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  };
  try {
    await post(
      `/invocation/${awsRequestId}/response`,
      (await handler(await next.json(), context)) ?? null,
    );
  } catch (error) {
    await post(`/invocation/${awsRequestId}/error`, describe(error), "Function.Error");
  }
}
