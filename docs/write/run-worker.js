// Runs programs; whoever asks for one that may not end ends this worker.

import {run} from "./command.js";
import {answerCalls} from "./serve.js";

answerCalls({run});
