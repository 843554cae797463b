// Connects names of AWS to the emulator, as its name server would: no setting of a program names the emulator.
const tls = require("node:tls");
const { connect } = tls;
tls.connect = function connectToEmulator(options, ...rest) {
  const name = options?.servername || options?.host || "";
  if (!name.endsWith(".amazonaws.com")) return connect.call(this, options, ...rest);
  const port = Number("PORT");
  return connect.call(this, { ...options, host: "127.0.0.1", port, servername: name }, ...rest);
};
