// Serves the plugin $name: main.js unix:PATH
import { serve } from "mooring-client/plugin-host";

import { plugin } from "./plugin.js";

await serve(process.argv[2]!, "0.1.0", plugin);
