// The streaming functions of Lambda's Node.js runtime, which the emulator's runtime has not. An answer is collected: its parts
// arrive together. https://docs.aws.amazon.com/lambda/latest/dg/config-rs-write-functions.html, read in 2026-11
const { Writable } = require("node:stream");

const heads = new WeakMap();

globalThis.awslambda = {
  streamifyResponse: (handler) => async (event, context) => {
    const chunks = [];
    const stream = new Writable({
      write(chunk, _encoding, done) {
        if (chunks.length === 0 && heads.has(stream)) {
          chunks.push(Buffer.from(JSON.stringify(heads.get(stream)) + "\0".repeat(8)));
        }
        chunks.push(chunk);
        setImmediate(done);
      },
    });
    const ended = new Promise((resolve, reject) =>
      stream.on("finish", resolve).on("error", reject)
    );
    await handler(event, stream, context);
    await ended;
    return Buffer.concat(chunks).toString();
  },
  HttpResponseStream: {
    from(stream, metadata) {
      heads.set(stream, metadata);
      return stream;
    },
  },
};
