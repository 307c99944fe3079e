// Written by docs/book/weave: what can be found, and below it docs/assets/script.js.
const FOUND = [
["term", "00-manual.html#manual-letters", "accumulated gradient", "\"Letters\", chapter 0", "A thing that is used twice receives gradients from both uses, so a backward pass adds to what is there.", ""],
["term", "00-manual.html#manual-letters", "gradient accumulation", "\"Letters\", chapter 0", "A thing that is used twice receives gradients from both uses, so a backward pass adds to what is there.", ""],
["term", "00-manual.html#manual-letters", "+=", "\"Letters\", chapter 0", "A thing that is used twice receives gradients from both uses, so a backward pass adds to what is there.", ""],
["term", "05-feed-forward.html#activation_forward", "activation function", "activation_forward, chapter 5", "What acts on each number by itself between two linear layers: ReLU or GELU.", ""],
["term", "05-feed-forward.html#activation_forward", "nonlinearity", "activation_forward, chapter 5", "What acts on each number by itself between two linear layers: ReLU or GELU.", ""],
["term", "08-decoder.html#Saved", "activations", "Saved, chapter 8", "What the forward pass computes and the backward pass still needs.", ""],
["term", "08-decoder.html#Saved", "intermediate results", "Saved, chapter 8", "What the forward pass computes and the backward pass still needs.", ""],
["term", "11-training.html#adam_step", "Adam", "adam_step, chapter 11", "Moves each parameter by the learning rate times the running mean of its gradients, divided by the root of that of their squares.", ""],
["term", "11-training.html#adam_step", "optimizer", "adam_step, chapter 11", "Moves each parameter by the learning rate times the running mean of its gradients, divided by the root of that of their squares.", ""],
["term", "11-training.html#adam_step", "torch.optim.Adam", "adam_step, chapter 11", "Moves each parameter by the learning rate times the running mean of its gradients, divided by the root of that of their squares.", ""],
["term", "01-numbers.html#Arena", "arena", "Arena, chapter 1", "Memory that is taken piece by piece during a step and given back all at once.", ""],
["term", "01-numbers.html#Arena", "bump allocator", "Arena, chapter 1", "Memory that is taken piece by piece during a step and given back all at once.", ""],
["term", "02-attention.html#Head", "attention head", "Head, chapter 2", "A band of K columns of the queries, keys and values, with attention of its own.", ""],
["term", "02-attention.html#Head", "head", "Head, chapter 2", "A band of K columns of the queries, keys and values, with attention of its own.", ""],
["term", "13-looking.html#looking-where-does-the-model-know-it-from", "attention is not explanation", "\"Where does the model know it from?\", chapter 13", "Where a head looks is not yet why the model says what it says; patching asks what it uses.", ""],
["term", "13-looking.html#looking-where-does-the-model-know-it-from", "activation patching", "\"Where does the model know it from?\", chapter 13", "Where a head looks is not yet why the model says what it says; patching asks what it uses.", ""],
["term", "13-looking.html#looking-where-does-the-model-know-it-from", "interpretability", "\"Where does the model know it from?\", chapter 13", "Where a head looks is not yet why the model says what it says; patching asks what it uses.", ""],
["term", "02-attention.html#softmax_forward", "attention weights", "softmax_forward, chapter 2", "The share of each value that a query fetches; each row sums to 1.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "autograd", "\"How to differentiate a program\", chapter 2", "What a framework does for you and this program does by hand: the chain rule, from the last step to the first.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "automatic differentiation", "\"How to differentiate a program\", chapter 2", "What a framework does for you and this program does by hand: the chain rule, from the last step to the first.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "loss.backward()", "\"How to differentiate a program\", chapter 2", "What a framework does for you and this program does by hand: the chain rule, from the last step to the first.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "backpropagation", "\"How to differentiate a program\", chapter 2", "Walking through the steps from the last to the first, carrying the gradient of the loss along.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "backward pass", "\"How to differentiate a program\", chapter 2", "Walking through the steps from the last to the first, carrying the gradient of the loss along.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "chain rule", "\"How to differentiate a program\", chapter 2", "Walking through the steps from the last to the first, carrying the gradient of the loss along.", ""],
["term", "09-masks.html#Batch", "batch", "Batch, chapter 9", "The sentences of one training step, padded to one length.", ""],
["term", "09-masks.html#Batch", "mini-batch", "Batch, chapter 9", "The sentences of one training step, padded to one length.", ""],
["term", "09-masks.html#Batch", "DataLoader", "Batch, chapter 9", "The sentences of one training step, padded to one length.", ""],
["term", "12-decoding.html#beam_search", "beam search", "beam_search, chapter 12", "Decoding that keeps several unfinished translations in each step, not only the best one.", ""],
["term", "12-decoding.html#beam_search", "beam width", "beam_search, chapter 12", "Decoding that keeps several unfinished translations in each step, not only the best one.", ""],
["term", "03-multi-head.html#Linear", "bias", "Linear, chapter 3", "The row that a linear layer adds to each row of its output.", ""],
["term", "11-training.html#adam_step", "bias correction", "adam_step, chapter 11", "Adam's moments begin at zero; dividing them by 1-βᵗ makes up for that.", ""],
["term", "12-decoding.html#bleu", "BLEU", "bleu, chapter 12", "A measure of translations: how many runs of one to four words they share with a reference.", ""],
["term", "09-masks.html#START", "BOS", "START, chapter 9", "The token that the decoder reads first.", ""],
["term", "09-masks.html#START", "start token", "START, chapter 9", "The token that the decoder reads first.", ""],
["term", "09-masks.html#START", "SOS", "START, chapter 9", "The token that the decoder reads first.", ""],
["term", "03-multi-head.html#linear_forward", "broadcasting", "linear_forward, chapter 3", "One row used for every row: the bias of a linear layer, or a mask with a row stride of 0.", ""],
["term", "10-batches.html#epoch_order", "bucketing", "epoch_order, chapter 10", "Putting sentences of similar length into one batch, so that little of it is padding.", ""],
["term", "10-batches.html#epoch_order", "sorting by length", "epoch_order, chapter 10", "Putting sentences of similar length into one batch, so that little of it is padding.", ""],
["term", "14-text.html#learn_merges", "byte pair encoding", "learn_merges, chapter 14", "Tokens that are pieces of words: the pair of neighbors that occurs most often is merged, again and again.", ""],
["term", "14-text.html#learn_merges", "BPE", "learn_merges, chapter 14", "Tokens that are pieces of words: the pair of neighbors that occurs most often is merged, again and again.", ""],
["term", "14-text.html#learn_merges", "subwords", "learn_merges, chapter 14", "Tokens that are pieces of words: the pair of neighbors that occurs most often is merged, again and again.", ""],
["term", "14-text.html#learn_merges", "byte pairs", "learn_merges, chapter 14", "Tokens that are pieces of words: the pair of neighbors that occurs most often is merged, again and again.", ""],
["term", "09-masks.html#causal_mask", "causal mask", "causal_mask, chapter 9", "Lets query i see key j only if j ≤ i, so that no word is predicted from the words after it.", ""],
["term", "09-masks.html#causal_mask", "look-ahead mask", "causal_mask, chapter 9", "Lets query i see key j only if j ≤ i, so that no word is predicted from the words after it.", ""],
["term", "09-masks.html#causal_mask", "subsequent mask", "causal_mask, chapter 9", "Lets query i see key j only if j ≤ i, so that no word is predicted from the words after it.", ""],
["term", "09-masks.html#causal_mask", "triangular mask", "causal_mask, chapter 9", "Lets query i see key j only if j ≤ i, so that no word is predicted from the words after it.", ""],
["term", "09-masks.html#causal_mask", "tril", "causal_mask, chapter 9", "Lets query i see key j only if j ≤ i, so that no word is predicted from the words after it.", ""],
["term", "15-saving.html#save_checkpoint", "checkpoint", "save_checkpoint, chapter 15", "A file with the parameters, Adam's moments, the settings and the vocabularies.", ""],
["term", "15-saving.html#save_checkpoint", "saved model", "save_checkpoint, chapter 15", "A file with the parameters, Adam's moments, the settings and the vocabularies.", ""],
["term", "15-saving.html#save_checkpoint", "safetensors", "save_checkpoint, chapter 15", "A file with the parameters, Adam's moments, the settings and the vocabularies.", ""],
["term", "15-saving.html#save_checkpoint", "state_dict", "save_checkpoint, chapter 15", "A file with the parameters, Adam's moments, the settings and the vocabularies.", ""],
["term", "01-numbers.html#Mat", "contiguous", "Mat, chapter 1", "A matrix here is a pointer with two strides, so transposing and splitting heads move no data.", ""],
["term", "01-numbers.html#Mat", "view", "Mat, chapter 1", "A matrix here is a pointer with two strides, so transposing and splitting heads move no data.", ""],
["term", "01-numbers.html#Mat", "stride", "Mat, chapter 1", "A matrix here is a pointer with two strides, so transposing and splitting heads move no data.", ""],
["term", "01-numbers.html#Mat", "transpose", "Mat, chapter 1", "A matrix here is a pointer with two strides, so transposing and splitting heads move no data.", ""],
["term", "01-numbers.html#Mat", "permute", "Mat, chapter 1", "A matrix here is a pointer with two strides, so transposing and splitting heads move no data.", ""],
["term", "01-numbers.html#Mat", "reshape", "Mat, chapter 1", "A matrix here is a pointer with two strides, so transposing and splitting heads move no data.", ""],
["term", "14-text.html#read_pairs", "corpus", "read_pairs, chapter 14", "A file with a source and a target sentence in each line.", ""],
["term", "14-text.html#read_pairs", "data set", "read_pairs, chapter 14", "A file with a source and a target sentence in each line.", ""],
["term", "14-text.html#read_pairs", "sentence pairs", "read_pairs, chapter 14", "A file with a source and a target sentence in each line.", ""],
["term", "08-decoder.html#decoder_layer_forward", "cross-attention", "decoder_layer_forward, chapter 8", "Attention whose queries come from the decoder and whose keys and values come from the encoder.", ""],
["term", "08-decoder.html#decoder_layer_forward", "encoder-decoder attention", "decoder_layer_forward, chapter 8", "Attention whose queries come from the decoder and whose keys and values come from the encoder.", ""],
["term", "11-training.html#loss_forward", "cross-entropy", "loss_forward, chapter 11", "The negative logarithm of the probability given to the expected word.", ""],
["term", "11-training.html#loss_forward", "loss", "loss_forward, chapter 11", "The negative logarithm of the probability given to the expected word.", ""],
["term", "11-training.html#loss_forward", "negative log-likelihood", "loss_forward, chapter 11", "The negative logarithm of the probability given to the expected word.", ""],
["term", "11-training.html#loss_forward", "NLL", "loss_forward, chapter 11", "The negative logarithm of the probability given to the expected word.", ""],
["term", "11-training.html#loss_forward", "criterion", "loss_forward, chapter 11", "The negative logarithm of the probability given to the expected word.", ""],
["term", "11-training.html#loss_forward", "nn.CrossEntropyLoss", "loss_forward, chapter 11", "The negative logarithm of the probability given to the expected word.", ""],
["term", "05-feed-forward.html#FeedForward", "d_ff", "FeedForward, chapter 5", "The width between the two linear layers of the feed-forward network; four times d_model by default.", ""],
["term", "05-feed-forward.html#FeedForward", "inner width", "FeedForward, chapter 5", "The width between the two linear layers of the feed-forward network; four times d_model by default.", ""],
["term", "03-multi-head.html#head", "d_k", "head, chapter 3", "The width of one head, d_model divided by the number of heads; the letter is K.", ""],
["term", "03-multi-head.html#head", "d_v", "head, chapter 3", "The width of one head, d_model divided by the number of heads; the letter is K.", ""],
["term", "03-multi-head.html#head", "head width", "head, chapter 3", "The width of one head, d_model divided by the number of heads; the letter is K.", ""],
["term", "03-multi-head.html#Config", "d_model", "Config, chapter 3", "The width of the vector that stands for a token; the letter is D.", ""],
["term", "03-multi-head.html#Config", "model width", "Config, chapter 3", "The width of the vector that stands for a token; the letter is D.", ""],
["term", "03-multi-head.html#Config", "hidden size", "Config, chapter 3", "The width of the vector that stands for a token; the letter is D.", ""],
["term", "03-multi-head.html#Config", "embedding dimension", "Config, chapter 3", "The width of the vector that stands for a token; the letter is D.", ""],
["term", "08-decoder.html#decoder_forward", "decoder", "decoder_forward, chapter 8", "The stack that writes the translation: self-attention under a causal mask, cross-attention, feed-forward.", ""],
["term", "gpt.html#what-a-decoder-only-model-drops", "decoder-only", "\"What a decoder-only model drops\", From here to GPT", "A stack under a causal mask, without an encoder, that predicts the next token; lab 16 builds one from this file's parts.", ""],
["term", "gpt.html#what-a-decoder-only-model-drops", "GPT", "\"What a decoder-only model drops\", From here to GPT", "A stack under a causal mask, without an encoder, that predicts the next token; lab 16 builds one from this file's parts.", ""],
["term", "gpt.html#what-a-decoder-only-model-drops", "language model", "\"What a decoder-only model drops\", From here to GPT", "A stack under a causal mask, without an encoder, that predicts the next token; lab 16 builds one from this file's parts.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "derivative", "\"How to differentiate a program\", chapter 2", "How fast the loss grows with a number; the gradient of x is called dx.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "gradient", "\"How to differentiate a program\", chapter 2", "How fast the loss grows with a number; the gradient of x is called dx.", ""],
["term", "14-text.html#detokenize", "detokenize", "detokenize, chapter 14", "From the numbers of a translation back to its text.", ""],
["term", "fast.html#dot", "dot product", "dot, the interlude", "How a query and a key are compared.", ""],
["term", "fast.html#dot", "score", "dot, the interlude", "How a query and a key are compared.", ""],
["term", "fast.html#dot", "similarity", "dot, the interlude", "How a query and a key are compared.", ""],
["term", "02-attention.html#attention_backward", "dq", "attention_backward, chapter 2", "The gradients of queries (T,K), keys (S,K) and values (S,K), shaped as q, k and v are.", ""],
["term", "02-attention.html#attention_backward", "dk", "attention_backward, chapter 2", "The gradients of queries (T,K), keys (S,K) and values (S,K), shaped as q, k and v are.", ""],
["term", "02-attention.html#attention_backward", "dv", "attention_backward, chapter 2", "The gradients of queries (T,K), keys (S,K) and values (S,K), shaped as q, k and v are.", ""],
["term", "06-residual.html#dropout", "dropout", "dropout, chapter 6", "Sets numbers to zero at random in training and scales up the rest.", ""],
["term", "06-residual.html#dropout", "nn.Dropout", "dropout, chapter 6", "Sets numbers to zero at random in training and scales up the rest.", ""],
["term", "02-attention.html#Dropout", "dropout mask", "Dropout, chapter 2", "Not kept: whether a number is dropped is a function of its place and a key, so the backward pass calls the same function.", ""],
["term", "own-language.html#is-it-overfitting", "early stopping", "\"Is it overfitting?\", Your own language", "Not done: the newest model is the one that is used. --valid shows when it was time to stop; a new run with so many --steps ends there.", ""],
["term", "own-language.html#is-it-overfitting", "best checkpoint", "\"Is it overfitting?\", Your own language", "Not done: the newest model is the one that is used. --valid shows when it was time to stop; a new run with so many --steps ends there.", ""],
["term", "04-embedding.html#embedding_forward", "embedding", "embedding_forward, chapter 4", "The row of a table that stands for a token, times √D.", ""],
["term", "04-embedding.html#embedding_forward", "token embedding", "embedding_forward, chapter 4", "The row of a table that stands for a token, times √D.", ""],
["term", "04-embedding.html#embedding_forward", "look-up table", "embedding_forward, chapter 4", "The row of a table that stands for a token, times √D.", ""],
["term", "04-embedding.html#embedding_forward", "nn.Embedding", "embedding_forward, chapter 4", "The row of a table that stands for a token, times √D.", ""],
["term", "07-encoder.html#encoder_forward", "encoder", "encoder_forward, chapter 7", "The stack that reads the source: self-attention and feed-forward in each layer.", ""],
["term", "09-masks.html#END", "EOS", "END, chapter 9", "The token that ends a sentence; the decoder must learn to write it.", ""],
["term", "09-masks.html#END", "end token", "END, chapter 9", "The token that ends a sentence; the decoder must learn to write it.", ""],
["term", "10-batches.html#epoch_order", "epoch", "epoch_order, chapter 10", "One pass through the training data.", ""],
["term", "06-residual.html#NORM_EPSILON", "epsilon of layer norm", "NORM_EPSILON, chapter 6", "Added to the variance, so that a constant row divides by something.", ""],
["term", "12-decoding.html#translate", "evaluation mode", "translate, chapter 12", "Using a trained model, without dropout: here dropout acts only in a pass whose training is set.", ""],
["term", "12-decoding.html#translate", "inference", "translate, chapter 12", "Using a trained model, without dropout: here dropout acts only in a pass whose training is set.", ""],
["term", "12-decoding.html#translate", "model.eval()", "translate, chapter 12", "Using a trained model, without dropout: here dropout acts only in a pass whose training is set.", ""],
["term", "12-decoding.html#add_match", "exact match", "add_match, chapter 12", "The share of translations that equal their reference.", ""],
["term", "05-feed-forward.html#ffn_forward", "feed-forward network", "ffn_forward, chapter 5", "Two linear layers with an activation between them, applied to each position by itself.", ""],
["term", "05-feed-forward.html#ffn_forward", "FFN", "ffn_forward, chapter 5", "Two linear layers with an activation between them, applied to each position by itself.", ""],
["term", "05-feed-forward.html#ffn_forward", "MLP", "ffn_forward, chapter 5", "Two linear layers with an activation between them, applied to each position by itself.", ""],
["term", "05-feed-forward.html#ffn_forward", "position-wise", "ffn_forward, chapter 5", "Two linear layers with an activation between them, applied to each position by itself.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "finite differences", "\"How to differentiate a program\", chapter 2", "Comparing a gradient with (loss(x + h) - loss(x - h)) / 2h.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "gradient check", "\"How to differentiate a program\", chapter 2", "Comparing a gradient with (loss(x + h) - loss(x - h)) / 2h.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "numerical gradient", "\"How to differentiate a program\", chapter 2", "Comparing a gradient with (loss(x + h) - loss(x - h)) / 2h.", ""],
["term", "11-training.html#loss_backward", "fused softmax and cross-entropy", "loss_backward, chapter 11", "The gradient of both together is p - q, which needs no division by a small probability.", ""],
["term", "06-residual.html#Norm", "gain and bias of a norm", "Norm, chapter 6", "What a normalized row is multiplied by and what is added to it; both are learned.", ""],
["term", "06-residual.html#Norm", "gamma and beta", "Norm, chapter 6", "What a normalized row is multiplied by and what is added to it; both are learned.", ""],
["term", "05-feed-forward.html#activation_forward", "GELU", "activation_forward, chapter 5", "The activation z times the share of a normal distribution below z.", ""],
["term", "12-decoding.html#translate", "generate", "translate, chapter 12", "Writing one word at a time, each from those written before it.", ""],
["term", "12-decoding.html#translate", "autoregressive decoding", "translate, chapter 12", "Writing one word at a time, each from those written before it.", ""],
["term", "12-decoding.html#translate", "inference loop", "translate, chapter 12", "Writing one word at a time, each from those written before it.", ""],
["term", "11-training.html#clip_factor", "gradient clipping", "clip_factor, chapter 11", "Scales the gradient of all parameters down if its norm exceeds a limit.", ""],
["term", "11-training.html#clip_factor", "clip_grad_norm", "clip_factor, chapter 11", "Scales the gradient of all parameters down if its norm exceeds a limit.", ""],
["term", "11-training.html#training-adam", "gradient descent", "\"Adam\", chapter 11", "The plain step p -= rate · g, which Adam refines.", ""],
["term", "11-training.html#training-adam", "SGD", "\"Adam\", chapter 11", "The plain step p -= rate · g, which Adam refines.", ""],
["term", "12-decoding.html#translate", "greedy decoding", "translate, chapter 12", "Takes the most probable word in each step and never takes it back.", ""],
["term", "12-decoding.html#translate", "argmax", "translate, chapter 12", "Takes the most probable word in each step and never takes it back.", ""],
["term", "11-training.html#Recipe", "hyperparameters", "Recipe, chapter 11", "Choices that are made before training, not learned.", ""],
["term", "11-training.html#Recipe", "settings", "Recipe, chapter 11", "Choices that are made before training, not learned.", ""],
["term", "11-training.html#Recipe", "options", "Recipe, chapter 11", "Choices that are made before training, not learned.", ""],
["term", "11-training.html#NOAM", "inverse square root", "NOAM, chapter 11", "How the learning rate falls after the warm-up.", ""],
["term", "11-training.html#NOAM", "noam", "NOAM, chapter 11", "How the learning rate falls after the warm-up.", ""],
["term", "02-attention.html#attention-how-to-differentiate-a-program", "Jacobian", "\"How to differentiate a program\", chapter 2", "The matrix of all ∂y_j/∂x_i of a step; it is never built.", ""],
["term", "02-attention.html#attention-attention-forward-and-backward", "key", "\"Attention, forward and backward\", chapter 2", "A query asks, a key is compared with it, and the value is what is fetched.", ""],
["term", "02-attention.html#attention-attention-forward-and-backward", "query", "\"Attention, forward and backward\", chapter 2", "A query asks, a key is compared with it, and the value is what is fetched.", ""],
["term", "02-attention.html#attention-attention-forward-and-backward", "value", "\"Attention, forward and backward\", chapter 2", "A query asks, a key is compared with it, and the value is what is fetched.", ""],
["term", "02-attention.html#attention-attention-forward-and-backward", "QKV", "\"Attention, forward and backward\", chapter 2", "A query asks, a key is compared with it, and the value is what is fetched.", ""],
["term", "12-decoding.html#LayerCache", "KV cache", "LayerCache, chapter 12", "Keys and values of the words so far, kept so that each step computes only one new position.", ""],
["term", "12-decoding.html#LayerCache", "key-value cache", "LayerCache, chapter 12", "Keys and values of the words so far, kept so that each step computes only one new position.", ""],
["term", "12-decoding.html#LayerCache", "past_key_values", "LayerCache, chapter 12", "Keys and values of the words so far, kept so that each step computes only one new position.", ""],
["term", "12-decoding.html#LayerCache", "incremental decoding", "LayerCache, chapter 12", "Keys and values of the words so far, kept so that each step computes only one new position.", ""],
["term", "11-training.html#loss_forward", "label smoothing", "loss_forward, chapter 11", "Spreads ε of the target's weight evenly over all words: see Recipe.smoothing and --label-smoothing.", ""],
["term", "06-residual.html#norm_forward", "layer normalization", "norm_forward, chapter 6", "Gives each row mean 0 and variance 1, then a gain and a bias.", ""],
["term", "06-residual.html#norm_forward", "layer norm", "norm_forward, chapter 6", "Gives each row mean 0 and variance 1, then a gain and a bias.", ""],
["term", "06-residual.html#norm_forward", "LayerNorm", "norm_forward, chapter 6", "Gives each row mean 0 and variance 1, then a gain and a bias.", ""],
["term", "06-residual.html#norm_forward", "nn.LayerNorm", "norm_forward, chapter 6", "Gives each row mean 0 and variance 1, then a gain and a bias.", ""],
["term", "11-training.html#learning_rate", "learning rate", "learning_rate, chapter 11", "The length of a step: it rises during warm-up, then falls.", ""],
["term", "11-training.html#learning_rate", "schedule", "learning_rate, chapter 11", "The length of a step: it rises during warm-up, then falls.", ""],
["term", "11-training.html#learning_rate", "scheduler", "learning_rate, chapter 11", "The length of a step: it rises during warm-up, then falls.", ""],
["term", "12-decoding.html#length_penalty", "length penalty", "length_penalty, chapter 12", "What a beam divides its scores by, so that long translations are not at a disadvantage.", ""],
["term", "12-decoding.html#length_penalty", "length normalization", "length_penalty, chapter 12", "What a beam divides its scores by, so that long translations are not at a disadvantage.", ""],
["term", "03-multi-head.html#linear_forward", "linear layer", "linear_forward, chapter 3", "y = x W + b.", ""],
["term", "03-multi-head.html#linear_forward", "fully connected layer", "linear_forward, chapter 3", "y = x W + b.", ""],
["term", "03-multi-head.html#linear_forward", "nn.Linear", "linear_forward, chapter 3", "y = x W + b.", ""],
["term", "03-multi-head.html#linear_forward", "projection", "linear_forward, chapter 3", "y = x W + b.", ""],
["term", "08-decoder.html#decode", "logits", "decode, chapter 8", "The numbers before softmax, one for each word of the vocabulary.", ""],
["term", "fast.html#sum_exponentials", "log-sum-exp", "sum_exponentials, the interlude", "The logarithm of a sum of exponentials; the largest number is subtracted first, so that nothing overflows.", ""],
["term", "fast.html#sum_exponentials", "lse", "sum_exponentials, the interlude", "The logarithm of a sum of exponentials; the largest number is subtracted first, so that nothing overflows.", ""],
["term", "fast.html#sum_exponentials", "numerical stability", "sum_exponentials, the interlude", "The logarithm of a sum of exponentials; the largest number is subtracted first, so that nothing overflows.", ""],
["term", "16-commands.html#write_log", "loss curve", "write_log, chapter 16", "Loss, learning rate and gradient norm of each step, as CSV (--log).", ""],
["term", "16-commands.html#write_log", "training log", "write_log, chapter 16", "Loss, learning rate and gradient norm of each step, as CSV (--log).", ""],
["term", "02-attention.html#Mask", "mask", "Mask, chapter 2", "Says which keys a query may see; hidden keys get the weight 0.", ""],
["term", "02-attention.html#Mask", "masking", "Mask, chapter 2", "Says which keys a query may see; hidden keys get the weight 0.", ""],
["term", "02-attention.html#Mask", "-inf", "Mask, chapter 2", "Says which keys a query may see; hidden keys get the weight 0.", ""],
["term", "02-attention.html#Mask", "masked_fill", "Mask, chapter 2", "Says which keys a query may see; hidden keys get the weight 0.", ""],
["term", "01-numbers.html#matmul_definition", "matrix product", "matmul_definition, chapter 1", "Defined as three plain loops, and made fast in the interlude.", ""],
["term", "01-numbers.html#matmul_definition", "matmul", "matmul_definition, chapter 1", "Defined as three plain loops, and made fast in the interlude.", ""],
["term", "01-numbers.html#matmul_definition", "GEMM", "matmul_definition, chapter 1", "Defined as three plain loops, and made fast in the interlude.", ""],
["term", "01-numbers.html#matmul_definition", "einsum", "matmul_definition, chapter 1", "Defined as three plain loops, and made fast in the interlude.", ""],
["term", "01-numbers.html#matmul_definition", "bmm", "matmul_definition, chapter 1", "Defined as three plain loops, and made fast in the interlude.", ""],
["term", "08-decoder.html#decoder_layer_backward", "gradient of the memory", "decoder_layer_backward, chapter 8", "Every layer of the decoder reads the memory, through its keys and its values, so the gradient is a sum: with two layers it has four parts.", ""],
["term", "08-decoder.html#decoder_layer_backward", "dmemory", "decoder_layer_backward, chapter 8", "Every layer of the decoder reads the memory, through its keys and its values, so the gradient is a sum: with two layers it has four parts.", ""],
["term", "08-decoder.html#encode", "memory", "encode, chapter 8", "The last output of the encoder, from which cross-attention takes its keys and values.", ""],
["term", "08-decoder.html#encode", "encoder output", "encode, chapter 8", "The last output of the encoder, from which cross-attention takes its keys and values.", ""],
["term", "11-training.html#Adam", "moments", "Adam, chapter 11", "Adam's running means of each gradient (m) and of its square (v).", ""],
["term", "11-training.html#Adam", "running mean", "Adam, chapter 11", "Adam's running means of each gradient (m) and of its square (v).", ""],
["term", "11-training.html#Adam", "momentum", "Adam, chapter 11", "Adam's running means of each gradient (m) and of its square (v).", ""],
["term", "03-multi-head.html#multi_head_forward", "multi-head attention", "multi_head_forward, chapter 3", "H attentions side by side, each on K of the D columns, mixed by an output matrix.", ""],
["term", "03-multi-head.html#multi_head_forward", "nn.MultiheadAttention", "multi_head_forward, chapter 3", "H attentions side by side, each on K of the D columns, mixed by an output matrix.", ""],
["term", "01-numbers.html#PARALLEL_FOR", "multithreading", "PARALLEL_FOR, chapter 1", "Loops whose rows several threads share; results do not depend on how many.", ""],
["term", "01-numbers.html#PARALLEL_FOR", "OpenMP", "PARALLEL_FOR, chapter 1", "Loops whose rows several threads share; results do not depend on how many.", ""],
["term", "01-numbers.html#PARALLEL_FOR", "parallel", "PARALLEL_FOR, chapter 1", "Loops whose rows several threads share; results do not depend on how many.", ""],
["term", "16-commands.html#run_training", "NaN", "run_training, chapter 16", "When the loss is no longer a finite number, training stops and says so.", ""],
["term", "16-commands.html#run_training", "divergence", "run_training, chapter 16", "When the loss is no longer a finite number, training stops and says so.", ""],
["term", "11-training.html#training-the-loss", "nat", "\"The loss\", chapter 11", "Units of the loss: nats with the natural logarithm, bits with the logarithm to base 2.", ""],
["term", "11-training.html#training-the-loss", "bits", "\"The loss\", chapter 11", "Units of the loss: nats with the natural logarithm, bits with the logarithm to base 2.", ""],
["term", "13-looking.html#print_parameters", "number of parameters", "print_parameters, chapter 13", "Counted by component with info.", ""],
["term", "13-looking.html#print_parameters", "model size", "print_parameters, chapter 13", "Counted by component with info.", ""],
["term", "12-decoding.html#add_match", "n-gram precision", "add_match, chapter 12", "The two parts of BLEU.", ""],
["term", "12-decoding.html#add_match", "brevity penalty", "add_match, chapter 12", "The two parts of BLEU.", ""],
["term", "09-masks.html#UNKNOWN", "out-of-vocabulary", "UNKNOWN, chapter 9", "The token for words that the vocabulary lacks.", ""],
["term", "09-masks.html#UNKNOWN", "unknown word", "UNKNOWN, chapter 9", "The token for words that the vocabulary lacks.", ""],
["term", "09-masks.html#UNKNOWN", "UNK", "UNKNOWN, chapter 9", "The token for words that the vocabulary lacks.", ""],
["term", "09-masks.html#UNKNOWN", "OOV", "UNKNOWN, chapter 9", "The token for words that the vocabulary lacks.", ""],
["term", "08-decoder.html#decode", "output layer", "decode, chapter 8", "The linear layer from the decoder's last vector to the logits.", ""],
["term", "08-decoder.html#decode", "generator", "decode, chapter 8", "The linear layer from the decoder's last vector to the logits.", ""],
["term", "08-decoder.html#decode", "unembedding", "decode, chapter 8", "The linear layer from the decoder's last vector to the logits.", ""],
["term", "08-decoder.html#decode", "lm_head", "decode, chapter 8", "The linear layer from the decoder's last vector to the logits.", ""],
["term", "own-language.html#is-it-overfitting", "overfitting", "\"Is it overfitting?\", Your own language", "Learning the training sentences by heart; it shows when the held-out loss rises.", ""],
["term", "own-language.html#is-it-overfitting", "generalization", "\"Is it overfitting?\", Your own language", "Learning the training sentences by heart; it shows when the held-out loss rises.", ""],
["term", "own-language.html#is-it-overfitting", "held-out data", "\"Is it overfitting?\", Your own language", "Learning the training sentences by heart; it shows when the held-out loss rises.", ""],
["term", "own-language.html#is-it-overfitting", "validation set", "\"Is it overfitting?\", Your own language", "Learning the training sentences by heart; it shows when the held-out loss rises.", ""],
["term", "09-masks.html#PAD", "padding", "PAD, chapter 9", "What fills up short sentences in a batch; masks hide it, and the loss does not count it.", ""],
["term", "09-masks.html#PAD", "pad token", "PAD, chapter 9", "What fills up short sentences in a batch; masks hide it, and the loss does not count it.", ""],
["term", "09-masks.html#padding_mask", "padding mask", "padding_mask, chapter 9", "Hides the padding from every query.", ""],
["term", "09-masks.html#padding_mask", "key_padding_mask", "padding_mask, chapter 9", "Hides the padding from every query.", ""],
["term", "09-masks.html#padding_mask", "src_mask", "padding_mask, chapter 9", "Hides the padding from every query.", ""],
["term", "08-decoder.html#Transformer", "parameter", "Transformer, chapter 8", "The numbers that training changes; one list names all of them.", ""],
["term", "08-decoder.html#Transformer", "weight matrix", "Transformer, chapter 8", "The numbers that training changes; one list names all of them.", ""],
["term", "08-decoder.html#Transformer", "learned numbers", "Transformer, chapter 8", "The numbers that training changes; one list names all of them.", ""],
["term", "16-commands.html#evaluate_command", "perplexity", "evaluate_command, chapter 16", "e to the loss: among how many equally likely words the model would be as unsure.", ""],
["term", "04-embedding.html#sinusoidal_positions", "positional encoding", "sinusoidal_positions, chapter 4", "What is added to an embedding so that the order of words counts: sines and cosines, or learned.", ""],
["term", "04-embedding.html#sinusoidal_positions", "position embedding", "sinusoidal_positions, chapter 4", "What is added to an embedding so that the order of words counts: sines and cosines, or learned.", ""],
["term", "06-residual.html#residual_enter", "post-norm", "residual_enter, chapter 6", "Whether the norm stands after the sum or before the sub-layer.", ""],
["term", "06-residual.html#residual_enter", "pre-norm", "residual_enter, chapter 6", "Whether the norm stands after the sum or before the sub-layer.", ""],
["term", "06-residual.html#residual_enter", "norm_first", "residual_enter, chapter 6", "Whether the norm stands after the sum or before the sub-layer.", ""],
["term", "fast.html#random_key", "random seed", "random_key, the interlude", "The same seed, data and build give the same bits, with any number of threads.", ""],
["term", "fast.html#random_key", "reproducibility", "random_key, the interlude", "The same seed, data and build give the same bits, with any number of threads.", ""],
["term", "fast.html#random_key", "determinism", "random_key, the interlude", "The same seed, data and build give the same bits, with any number of threads.", ""],
["term", "06-residual.html#residual-dropout", "regularization", "\"Dropout\", chapter 6", "What works against overfitting, such as dropout and label smoothing.", ""],
["term", "05-feed-forward.html#activation_forward", "ReLU", "activation_forward, chapter 5", "The activation max(0, z).", ""],
["term", "06-residual.html#residual_enter", "residual connection", "residual_enter, chapter 6", "Adds a sub-layer's input to its output; backward, the gradient goes through the sub-layer and around it.", ""],
["term", "06-residual.html#residual_enter", "skip connection", "residual_enter, chapter 6", "Adds a sub-layer's input to its output; backward, the gradient goes through the sub-layer and around it.", ""],
["term", "06-residual.html#residual_enter", "shortcut", "residual_enter, chapter 6", "Adds a sub-layer's input to its output; backward, the gradient goes through the sub-layer and around it.", ""],
["term", "06-residual.html#residual_enter", "residual stream", "residual_enter, chapter 6", "Adds a sub-layer's input to its output; backward, the gradient goes through the sub-layer and around it.", ""],
["term", "16-commands.html#begin_run", "resume", "begin_run, chapter 16", "Goes on where a training run stopped, bit for bit.", ""],
["term", "16-commands.html#begin_run", "continue training", "begin_run, chapter 16", "Goes on where a training run stopped, bit for bit.", ""],
["term", "01-numbers.html#Mat", "row stride", "Mat, chapter 1", "How far apart in memory two neighbors of a column and of a row are.", ""],
["term", "01-numbers.html#Mat", "column stride", "Mat, chapter 1", "How far apart in memory two neighbors of a column and of a row are.", ""],
["term", "01-numbers.html#Mat", "leading dimension", "Mat, chapter 1", "How far apart in memory two neighbors of a column and of a row are.", ""],
["term", "02-attention.html#attention_forward", "scaled dot-product attention", "attention_forward, chapter 2", "softmax(q kᵀ / √K) v: a mean of the values, weighted by how well their keys match.", ""],
["term", "02-attention.html#attention_forward", "attention", "attention_forward, chapter 2", "softmax(q kᵀ / √K) v: a mean of the values, weighted by how well their keys match.", ""],
["term", "02-attention.html#attention_forward", "F.scaled_dot_product_attention", "attention_forward, chapter 2", "softmax(q kᵀ / √K) v: a mean of the values, weighted by how well their keys match.", ""],
["term", "02-attention.html#attention_forward", "scale", "attention_forward, chapter 2", "The scores are divided by √K, lest softmax saturate.", ""],
["term", "02-attention.html#attention_forward", "1/√d_k", "attention_forward, chapter 2", "The scores are divided by √K, lest softmax saturate.", ""],
["term", "02-attention.html#attention_forward", "temperature of attention", "attention_forward, chapter 2", "The scores are divided by √K, lest softmax saturate.", ""],
["term", "07-encoder.html#attention_sublayer_forward", "self-attention", "attention_sublayer_forward, chapter 7", "Attention whose queries, keys and values come from the same sentence.", ""],
["term", "00-manual.html#manual-letters", "shape letters", "\"Letters\", chapter 0", "B, S, T, D, H, K, F, V, L, P, N: one letter for each size, everywhere.", ""],
["term", "00-manual.html#manual-letters", "notation", "\"Letters\", chapter 0", "B, S, T, D, H, K, F, V, L, P, N: one letter for each size, everywhere.", ""],
["term", "04-embedding.html#sinusoidal_positions", "sinusoidal positions", "sinusoidal_positions, chapter 4", "Sines and cosines whose wavelengths grow from column to column.", ""],
["term", "02-attention.html#softmax_row", "softmax", "softmax_row, chapter 2", "e to each number, divided by the sum of them.", ""],
["term", "07-encoder.html#AttentionSublayer", "sub-layer", "AttentionSublayer, chapter 7", "Attention or feed-forward with its residual connection and norm.", ""],
["term", "09-masks.html#transformer_forward", "teacher forcing", "transformer_forward, chapter 9", "Predicting each word from the true words before it, all positions at once.", ""],
["term", "09-masks.html#transformer_forward", "shifted right", "transformer_forward, chapter 9", "Predicting each word from the true words before it, all positions at once.", ""],
["term", "08-decoder.html#transformer_outline", "tensor names", "transformer_outline, chapter 8", "Dotted names such as encoder.0.self_attention.query.weight.", ""],
["term", "08-decoder.html#transformer_outline", "state_dict keys", "transformer_outline, chapter 8", "Dotted names such as encoder.0.self_attention.query.weight.", ""],
["term", "08-decoder.html#Transformer", "tied embeddings", "Transformer, chapter 8", "One matrix for the target embedding and the output layer (--tie).", ""],
["term", "08-decoder.html#Transformer", "weight tying", "Transformer, chapter 8", "One matrix for the target embedding and the output layer (--tie).", ""],
["term", "08-decoder.html#Transformer", "weight sharing", "Transformer, chapter 8", "One matrix for the target embedding and the output layer (--tie).", ""],
["term", "14-text.html#tokenize", "token", "tokenize, chapter 14", "What the model reads and writes: a word, a character or a piece of a word.", ""],
["term", "14-text.html#tokenize", "tokenizer", "tokenize, chapter 14", "What the model reads and writes: a word, a character or a piece of a word.", ""],
["term", "14-text.html#tokenize", "tokenization", "tokenize, chapter 14", "What the model reads and writes: a word, a character or a piece of a word.", ""],
["term", "11-training.html#train", "training loop", "train, chapter 11", "Forward, loss, backward, clip, Adam; and again.", ""],
["term", "11-training.html#train", "train step", "train, chapter 11", "Forward, loss, backward, clip, Adam; and again.", ""],
["term", "11-training.html#train", "optimizer.step()", "train, chapter 11", "Forward, loss, backward, clip, Adam; and again.", ""],
["term", "08-decoder.html#Transformer", "transformer", "Transformer, chapter 8", "Encoder, decoder, embeddings and output layer.", ""],
["term", "08-decoder.html#Transformer", "whole model", "Transformer, chapter 8", "Encoder, decoder, embeddings and output layer.", ""],
["term", "08-decoder.html#Transformer", "nn.Transformer", "Transformer, chapter 8", "Encoder, decoder, embeddings and output layer.", ""],
["term", "08-decoder.html#Transformer", "sequence to sequence", "Transformer, chapter 8", "Encoder, decoder, embeddings and output layer.", ""],
["term", "14-text.html#utf8_number", "UTF-8", "utf8_number, chapter 14", "How characters are stored as bytes.", ""],
["term", "14-text.html#utf8_number", "Unicode", "utf8_number, chapter 14", "How characters are stored as bytes.", ""],
["term", "06-residual.html#residual-where-the-norm-stands", "vanishing gradient", "\"Where the norm stands\", chapter 6", "Gradients that shrink or grow from layer to layer; residual connections and clipping help.", ""],
["term", "06-residual.html#residual-where-the-norm-stands", "exploding gradient", "\"Where the norm stands\", chapter 6", "Gradients that shrink or grow from layer to layer; residual connections and clipping help.", ""],
["term", "fast.html#tile", "vector registers", "tile, the interlude", "How the product becomes many times faster than three loops.", ""],
["term", "fast.html#tile", "SIMD", "tile, the interlude", "How the product becomes many times faster than three loops.", ""],
["term", "fast.html#tile", "AVX", "tile, the interlude", "How the product becomes many times faster than three loops.", ""],
["term", "fast.html#tile", "tile", "tile, the interlude", "How the product becomes many times faster than three loops.", ""],
["term", "fast.html#tile", "cache blocking", "tile, the interlude", "How the product becomes many times faster than three loops.", ""],
["term", "14-text.html#Vocab", "vocabulary", "Vocab, chapter 14", "The list of all tokens, in both directions.", ""],
["term", "14-text.html#Vocab", "vocab", "Vocab, chapter 14", "The list of all tokens, in both directions.", ""],
["term", "11-training.html#learning_rate", "warm-up", "learning_rate, chapter 11", "The first steps, in which the learning rate rises linearly.", ""],
["term", "11-training.html#learning_rate", "warmup steps", "learning_rate, chapter 11", "The first steps, in which the learning rate rises linearly.", ""],
["term", "08-decoder.html#initialize", "Xavier initialization", "initialize, chapter 8", "Matrices begin with random numbers, uniform between ±√(6/(in+out)).", ""],
["term", "08-decoder.html#initialize", "Glorot", "initialize, chapter 8", "Matrices begin with random numbers, uniform between ±√(6/(in+out)).", ""],
["term", "08-decoder.html#initialize", "initialization", "initialize, chapter 8", "Matrices begin with random numbers, uniform between ±√(6/(in+out)).", ""],
["term", "11-training.html#train_step", "zero_grad", "train_step, chapter 11", "The gradients are set to zero before each backward pass, because it adds to them.", ""],
["term", "11-training.html#train_step", "clearing gradients", "train_step, chapter 11", "The gradients are set to zero before each backward pass, because it adds to them.", ""],
["term", "../notebook/20-parts.ipynb", "ablation", "lab 20, What is each part for?", "A part is taken out, and what then goes wrong says what it was for. Lab 20 does it with each part, on seven small tasks.", ""],
["term", "../notebook/20-parts.ipynb", "what a part is for", "lab 20, What is each part for?", "A part is taken out, and what then goes wrong says what it was for. Lab 20 does it with each part, on seven small tasks.", ""],
["term", "13-looking.html#draw_attention", "attention map", "draw_attention, chapter 13", "A picture of the attention weights, in the terminal or from a CSV file; lab 11 plots all layers and heads.", ""],
["term", "13-looking.html#draw_attention", "heat map", "draw_attention, chapter 13", "A picture of the attention weights, in the terminal or from a CSV file; lab 11 plots all layers and heads.", ""],
["term", "13-looking.html#draw_attention", "visualization", "draw_attention, chapter 13", "A picture of the attention weights, in the terminal or from a CSV file; lab 11 plots all layers and heads.", ""],
["term", "06-residual.html#norm_forward", "batch normalization", "norm_forward, chapter 6", "Not here: it normalizes each column over the batch. The Transformer normalizes each row by itself.", ""],
["term", "../notebook/18-pretrained.ipynb", "BERT", "lab 18, Pre-trained: GPT-2 and BERT", "An encoder that only reads, trained to fill in words that were hidden. Lab 18 builds it on this file's encoder and reads its published parameters; lab 21 trains one.", ""],
["term", "../notebook/18-pretrained.ipynb", "masked language model", "lab 18, Pre-trained: GPT-2 and BERT", "An encoder that only reads, trained to fill in words that were hidden. Lab 18 builds it on this file's encoder and reads its published parameters; lab 21 trains one.", ""],
["term", "../notebook/18-pretrained.ipynb", "[MASK]", "lab 18, Pre-trained: GPT-2 and BERT", "An encoder that only reads, trained to fill in words that were hidden. Lab 18 builds it on this file's encoder and reads its published parameters; lab 21 trains one.", ""],
["term", "../notebook/13-cost.ipynb", "complexity", "lab 13, What attention costs", "Attention compares every position with every other. Lab 13 measures what that costs in time and memory, and from which length on.", ""],
["term", "../notebook/13-cost.ipynb", "O(n²)", "lab 13, What attention costs", "Attention compares every position with every other. Lab 13 measures what that costs in time and memory, and from which length on.", ""],
["term", "../notebook/13-cost.ipynb", "quadratic cost", "lab 13, What attention costs", "Attention compares every position with every other. Lab 13 measures what that costs in time and memory, and from which length on.", ""],
["term", "../notebook/19-machines.ipynb", "data parallelism", "lab 19, Many machines, the same bits", "Machines share a batch and add up their gradients; lab 19 does it with MPI, and the result has the same bits on any number of them.", ""],
["term", "../notebook/19-machines.ipynb", "distributed training", "lab 19, Many machines, the same bits", "Machines share a batch and add up their gradients; lab 19 does it with MPI, and the result has the same bits on any number of them.", ""],
["term", "../notebook/19-machines.ipynb", "MPI", "lab 19, Many machines, the same bits", "Machines share a batch and add up their gradients; lab 19 does it with MPI, and the result has the same bits on any number of them.", ""],
["term", "../notebook/19-machines.ipynb", "all-reduce", "lab 19, Many machines, the same bits", "Machines share a batch and add up their gradients; lab 19 does it with MPI, and the result has the same bits on any number of them.", ""],
["term", "../notebook/19-machines.ipynb", "several machines", "lab 19, Many machines, the same bits", "Machines share a batch and add up their gradients; lab 19 does it with MPI, and the result has the same bits on any number of them.", ""],
["term", "../notebook/15-classifier.ipynb", "encoder-only", "lab 15, Encoder only: a classifier", "A stack that only reads. Lab 15 builds a classifier on this file's encoder; lab 18 reads BERT's published parameters.", ""],
["term", "../notebook/15-classifier.ipynb", "classifier", "lab 15, Encoder only: a classifier", "A stack that only reads. Lab 15 builds a classifier on this file's encoder; lab 18 reads BERT's published parameters.", ""],
["term", "../notebook/15-classifier.ipynb", "sentence classification", "lab 15, Encoder only: a classifier", "A stack that only reads. Lab 15 builds a classifier on this file's encoder; lab 18 reads BERT's published parameters.", ""],
["term", "../notebook/03-positions.ipynb", "extrapolation", "lab 3, Positions", "Lab 3 measures whether it works: at one place beyond the longest sentence a little, further on not at all.", ""],
["term", "../notebook/03-positions.ipynb", "longer sentences than in training", "lab 3, Positions", "Lab 3 measures whether it works: at one place beyond the longest sentence a little, further on not at all.", ""],
["term", "../notebook/21-carried-over.ipynb", "fine-tuning", "lab 21, Carried over: pre-training and fine-tuning", "Training that goes on with parameters which were trained for something else: train --from. Lab 21 measures how much it helps; lab 18 does it with GPT-2.", ""],
["term", "../notebook/21-carried-over.ipynb", "transfer learning", "lab 21, Carried over: pre-training and fine-tuning", "Training that goes on with parameters which were trained for something else: train --from. Lab 21 measures how much it helps; lab 18 does it with GPT-2.", ""],
["term", "gpt.html#what-large-models-do-differently", "flash attention", "\"What large models do differently\", From here to GPT", "Not here: all weights are computed and kept, as the formula says.", ""],
["term", "gpt.html#what-large-models-do-differently", "sparse attention", "\"What large models do differently\", From here to GPT", "Not here: all weights are computed and kept, as the formula says.", ""],
["term", "gpt.html#what-large-models-do-differently", "linear attention", "\"What large models do differently\", From here to GPT", "Not here: all weights are computed and kept, as the formula says.", ""],
["term", "01-numbers.html#numbers-shape-and-several-threads", "GPU", "\"SHAPE, and several threads\", chapter 1", "Not here: the program runs on a processor, with its vector registers and OpenMP.", ""],
["term", "01-numbers.html#numbers-shape-and-several-threads", "CUDA", "\"SHAPE, and several threads\", chapter 1", "Not here: the program runs on a processor, with its vector registers and OpenMP.", ""],
["term", "../notebook/17-since-2017.ipynb", "grouped-query attention", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Several heads of queries share one head of keys and values, which makes the cache smaller. Lab 17 has them, forward and backward; in transformer.c each head has its own.", ""],
["term", "../notebook/17-since-2017.ipynb", "grouped queries", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Several heads of queries share one head of keys and values, which makes the cache smaller. Lab 17 has them, forward and backward; in transformer.c each head has its own.", ""],
["term", "../notebook/17-since-2017.ipynb", "GQA", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Several heads of queries share one head of keys and values, which makes the cache smaller. Lab 17 has them, forward and backward; in transformer.c each head has its own.", ""],
["term", "../notebook/17-since-2017.ipynb", "multi-query attention", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Several heads of queries share one head of keys and values, which makes the cache smaller. Lab 17 has them, forward and backward; in transformer.c each head has its own.", ""],
["term", "../notebook/17-since-2017.ipynb", "MQA", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Several heads of queries share one head of keys and values, which makes the cache smaller. Lab 17 has them, forward and backward; in transformer.c each head has its own.", ""],
["term", "../notebook/17-since-2017.ipynb", "key-value heads", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Several heads of queries share one head of keys and values, which makes the cache smaller. Lab 17 has them, forward and backward; in transformer.c each head has its own.", ""],
["term", "../notebook/17-since-2017.ipynb", "Llama", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Lab 17 compares one, line by line, with transformer.c and the labs, and names the function for each line.", ""],
["term", "../notebook/17-since-2017.ipynb", "large language model", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Lab 17 compares one, line by line, with transformer.c and the labs, and names the function for each line.", ""],
["term", "../notebook/17-since-2017.ipynb", "LLM", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Lab 17 compares one, line by line, with transformer.c and the labs, and names the function for each line.", ""],
["term", "../notebook/08-rnn.ipynb", "LSTM", "lab 8, Why the recurrent network was dropped", "What the paper replaced, so not in transformer.c. Lab 8 trains LSTMs with and without attention beside the transformer, and lab 13 compares the time.", ""],
["term", "../notebook/08-rnn.ipynb", "RNN", "lab 8, Why the recurrent network was dropped", "What the paper replaced, so not in transformer.c. Lab 8 trains LSTMs with and without attention beside the transformer, and lab 13 compares the time.", ""],
["term", "../notebook/08-rnn.ipynb", "recurrent network", "lab 8, Why the recurrent network was dropped", "What the paper replaced, so not in transformer.c. Lab 8 trains LSTMs with and without attention beside the transformer, and lab 13 compares the time.", ""],
["term", "../notebook/08-rnn.ipynb", "Bahdanau attention", "lab 8, Why the recurrent network was dropped", "What the paper replaced, so not in transformer.c. Lab 8 trains LSTMs with and without attention beside the transformer, and lab 13 compares the time.", ""],
["term", "01-numbers.html#numbers-the-number-type", "mixed precision", "\"The number type\", chapter 1", "Not here: a number has 32 bits, in the tests 64.", ""],
["term", "01-numbers.html#numbers-the-number-type", "half precision", "\"The number type\", chapter 1", "Not here: a number has 32 bits, in the tests 64.", ""],
["term", "01-numbers.html#numbers-the-number-type", "bfloat16", "\"The number type\", chapter 1", "Not here: a number has 32 bits, in the tests 64.", ""],
["term", "gpt.html#what-large-models-do-differently", "mixture of experts", "\"What large models do differently\", From here to GPT", "Not here: changes since the paper, each with a sentence and its source in the last chapter.", ""],
["term", "gpt.html#what-large-models-do-differently", "MoE", "\"What large models do differently\", From here to GPT", "Not here: changes since the paper, each with a sentence and its source in the last chapter.", ""],
["term", "gpt.html#what-large-models-do-differently", "quantization", "\"What large models do differently\", From here to GPT", "Not here: changes since the paper, each with a sentence and its source in the last chapter.", ""],
["term", "11-training.html#evaluate_loss", "no_grad", "evaluate_loss, chapter 11", "Not needed: nothing records the steps. A forward pass saves what its backward pass would need in the arena, and where none follows, that memory is released at once.", ""],
["term", "11-training.html#evaluate_loss", "inference_mode", "evaluate_loss, chapter 11", "Not needed: nothing records the steps. A forward pass saves what its backward pass would need in the arena, and where none follows, that memory is released at once.", ""],
["term", "04-embedding.html#embedding-where-a-token-stands", "permutation", "\"Where a token stands\", chapter 4", "Without positions, an encoder that reads the same words in another order gives the same rows in that other order.", ""],
["term", "04-embedding.html#embedding-where-a-token-stands", "permutation equivariance", "\"Where a token stands\", chapter 4", "Without positions, an encoder that reads the same words in another order gives the same rows in that other order.", ""],
["term", "04-embedding.html#embedding-where-a-token-stands", "word order", "\"Where a token stands\", chapter 4", "Without positions, an encoder that reads the same words in another order gives the same rows in that other order.", ""],
["term", "../notebook/17-since-2017.ipynb", "RMSNorm", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "A norm that subtracts no mean. Lab 17 has it, forward and backward; norm_forward is layer normalization.", ""],
["term", "../notebook/17-since-2017.ipynb", "root mean square normalization", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "A norm that subtracts no mean. Lab 17 has it, forward and backward; norm_forward is layer normalization.", ""],
["term", "../notebook/17-since-2017.ipynb", "rotary positions", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Queries and keys are turned by angles that grow with the position. Lab 17 has both conventions; in transformer.c positions are added to the embeddings.", ""],
["term", "../notebook/17-since-2017.ipynb", "RoPE", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Queries and keys are turned by angles that grow with the position. Lab 17 has both conventions; in transformer.c positions are added to the embeddings.", ""],
["term", "../notebook/17-since-2017.ipynb", "rotary embedding", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Queries and keys are turned by angles that grow with the position. Lab 17 has both conventions; in transformer.c positions are added to the embeddings.", ""],
["term", "../notebook/17-since-2017.ipynb", "rotate_half", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "Queries and keys are turned by angles that grow with the position. Lab 17 has both conventions; in transformer.c positions are added to the embeddings.", ""],
["term", "../notebook/21-carried-over.ipynb", "pre-training", "lab 21, Carried over: pre-training and fine-tuning", "Learning from text alone, before there are labels. Lab 21 does it as BERT and as GPT do, and carries the result over.", ""],
["term", "../notebook/21-carried-over.ipynb", "masked words", "lab 21, Carried over: pre-training and fine-tuning", "Learning from text alone, before there are labels. Lab 21 does it as BERT and as GPT do, and carries the result over.", ""],
["term", "../notebook/21-carried-over.ipynb", "next words", "lab 21, Carried over: pre-training and fine-tuning", "Learning from text alone, before there are labels. Lab 21 does it as BERT and as GPT do, and carries the result over.", ""],
["term", "../notebook/21-carried-over.ipynb", "frozen layers", "lab 21, Carried over: pre-training and fine-tuning", "Learning from text alone, before there are labels. Lab 21 does it as BERT and as GPT do, and carries the result over.", ""],
["term", "../notebook/21-carried-over.ipynb", "forgetting", "lab 21, Carried over: pre-training and fine-tuning", "Learning from text alone, before there are labels. Lab 21 does it as BERT and as GPT do, and carries the result over.", ""],
["term", "../notebook/18-pretrained.ipynb", "pre-trained model", "lab 18, Pre-trained: GPT-2 and BERT", "Lab 18 reads GPT-2 and BERT from their published files.", ""],
["term", "../notebook/18-pretrained.ipynb", "published parameters", "lab 18, Pre-trained: GPT-2 and BERT", "Lab 18 reads GPT-2 and BERT from their published files.", ""],
["term", "../notebook/18-pretrained.ipynb", "weights", "lab 18, Pre-trained: GPT-2 and BERT", "Lab 18 reads GPT-2 and BERT from their published files.", ""],
["term", "../notebook/18-pretrained.ipynb", "Hugging Face hub", "lab 18, Pre-trained: GPT-2 and BERT", "Lab 18 reads GPT-2 and BERT from their published files.", ""],
["term", "../notebook/18-pretrained.ipynb", "GPT-2", "lab 18, Pre-trained: GPT-2 and BERT", "Lab 18 reads GPT-2 and BERT from their published files.", ""],
["term", "gpt.html#what-large-models-do-differently", "relative positions", "\"What large models do differently\", From here to GPT", "Not here: later than the paper. Rotary positions, which depend on distances too, are in lab 17.", ""],
["term", "gpt.html#what-large-models-do-differently", "ALiBi", "\"What large models do differently\", From here to GPT", "Not here: later than the paper. Rotary positions, which depend on distances too, are in lab 17.", ""],
["term", "../notebook/16-gpt.ipynb", "sampling", "lab 16, Decoder only: a GPT that learns this book", "Not in transformer.c, which takes the most probable word; lab 16 draws the next one at random, and plots these rules.", ""],
["term", "../notebook/16-gpt.ipynb", "temperature", "lab 16, Decoder only: a GPT that learns this book", "Not in transformer.c, which takes the most probable word; lab 16 draws the next one at random, and plots these rules.", ""],
["term", "../notebook/16-gpt.ipynb", "top-k", "lab 16, Decoder only: a GPT that learns this book", "Not in transformer.c, which takes the most probable word; lab 16 draws the next one at random, and plots these rules.", ""],
["term", "../notebook/16-gpt.ipynb", "top-p", "lab 16, Decoder only: a GPT that learns this book", "Not in transformer.c, which takes the most probable word; lab 16 draws the next one at random, and plots these rules.", ""],
["term", "../notebook/17-since-2017.ipynb", "SwiGLU", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "A feed-forward network with a gate: two layers widen, and one of them, bent, multiplies the other. Lab 17 has it, forward and backward.", ""],
["term", "../notebook/17-since-2017.ipynb", "SiLU", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "A feed-forward network with a gate: two layers widen, and one of them, bent, multiplies the other. Lab 17 has it, forward and backward.", ""],
["term", "../notebook/17-since-2017.ipynb", "Swish", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "A feed-forward network with a gate: two layers widen, and one of them, bent, multiplies the other. Lab 17 has it, forward and backward.", ""],
["term", "../notebook/17-since-2017.ipynb", "gated linear unit", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "A feed-forward network with a gate: two layers widen, and one of them, bent, multiplies the other. Lab 17 has it, forward and backward.", ""],
["term", "../notebook/17-since-2017.ipynb", "GLU", "lab 17, Since 2017: RMSNorm, rotary positions, SwiGLU, grouped queries", "A feed-forward network with a gate: two layers widen, and one of them, bent, multiplies the other. Lab 17 has it, forward and backward.", ""],
["term", "../notebook/18-pretrained.ipynb", "vocab.json", "lab 18, Pre-trained: GPT-2 and BERT", "The tokenizers of GPT-2 and BERT, and their files. Lab 18 reads them and cuts texts as they do.", ""],
["term", "../notebook/18-pretrained.ipynb", "merges.txt", "lab 18, Pre-trained: GPT-2 and BERT", "The tokenizers of GPT-2 and BERT, and their files. Lab 18 reads them and cuts texts as they do.", ""],
["term", "../notebook/18-pretrained.ipynb", "byte-level BPE", "lab 18, Pre-trained: GPT-2 and BERT", "The tokenizers of GPT-2 and BERT, and their files. Lab 18 reads them and cuts texts as they do.", ""],
["term", "../notebook/18-pretrained.ipynb", "WordPiece", "lab 18, Pre-trained: GPT-2 and BERT", "The tokenizers of GPT-2 and BERT, and their files. Lab 18 reads them and cuts texts as they do.", ""],
["term", "../notebook/18-pretrained.ipynb", "vocab.txt", "lab 18, Pre-trained: GPT-2 and BERT", "The tokenizers of GPT-2 and BERT, and their files. Lab 18 reads them and cuts texts as they do.", ""],
["term", "11-training.html#adam_step", "weight decay", "adam_step, chapter 11", "Not here: this is Adam as it was published, which pulls no parameter towards zero.", ""],
["term", "11-training.html#adam_step", "AdamW", "adam_step, chapter 11", "Not here: this is Adam as it was published, which pulls no parameter towards zero.", ""],
["term", "00-manual.html#manual-letters", "B", "\"Letters\", chapter 0", "Sentences in a batch.", ""],
["term", "00-manual.html#manual-letters", "D", "\"Letters\", chapter 0", "Width of the model (d_model).", ""],
["term", "00-manual.html#manual-letters", "F", "\"Letters\", chapter 0", "Inner width of the feed-forward network (d_ff).", ""],
["term", "00-manual.html#manual-letters", "H", "\"Letters\", chapter 0", "Number of heads.", ""],
["term", "00-manual.html#manual-letters", "K", "\"Letters\", chapter 0", "Width of a head, D/H.", ""],
["term", "00-manual.html#manual-letters", "L", "\"Letters\", chapter 0", "Layers of each stack.", ""],
["term", "00-manual.html#manual-letters", "N", "\"Letters\", chapter 0", "Rows, any number of them.", ""],
["term", "00-manual.html#manual-letters", "P", "\"Letters\", chapter 0", "Positions there is room for.", ""],
["term", "00-manual.html#manual-letters", "S", "\"Letters\", chapter 0", "Length of the source; in attention, the number of keys.", ""],
["term", "00-manual.html#manual-letters", "T", "\"Letters\", chapter 0", "Length of the target; in attention, the number of queries.", ""],
["term", "00-manual.html#manual-letters", "V", "\"Letters\", chapter 0", "Words in the vocabulary.", ""],
["option", "15-saving.html#option-layers", "--layers", "the options", "layers of the encoder, and of the decoder", ""],
["option", "15-saving.html#option-d-model", "--d-model", "the options", "width of the vector that stands for a token", ""],
["option", "15-saving.html#option-heads", "--heads", "the options", "attention heads; must divide d-model", ""],
["option", "15-saving.html#option-d-ff", "--d-ff", "the options", "inner width of the feed-forward network (4 d-model)", ""],
["option", "15-saving.html#option-dropout", "--dropout", "the options", "share of embeddings and sub-layer outputs dropped", ""],
["option", "15-saving.html#option-attention-dropout", "--attention-dropout", "the options", "of attention weights (as --dropout)", ""],
["option", "15-saving.html#option-activation-dropout", "--activation-dropout", "the options", "of the inner layer (as --dropout)", ""],
["option", "15-saving.html#option-norm", "--norm", "the options", "normalize after or before a sub-layer", ""],
["option", "15-saving.html#option-positions", "--positions", "the options", "positional encoding", ""],
["option", "15-saving.html#option-activation", "--activation", "the options", "of the feed-forward network", ""],
["option", "15-saving.html#option-tie", "--tie", "the options", "one matrix for target embedding and output layer", ""],
["option", "15-saving.html#option-max-len", "--max-len", "the options", "longest sentence, in tokens", ""],
["option", "15-saving.html#option-tokens", "--tokens", "the options", "cut text into words, characters or byte pairs", ""],
["option", "15-saving.html#option-merges", "--merges", "the options", "pieces that byte pairs learn, at most (4000)", ""],
["option", "15-saving.html#option-lowercase", "--lowercase", "the options", "write everything in lower case first", ""],
["option", "15-saving.html#option-min-count", "--min-count", "the options", "words that occur less often are unknown", ""],
["option", "15-saving.html#option-label-smoothing", "--label-smoothing", "the options", "weight spread evenly over all words", ""],
["option", "15-saving.html#option-lr", "--lr", "the options", "peak of the learning rate (1/sqrt(d-model warmup))", ""],
["option", "15-saving.html#option-warmup", "--warmup", "the options", "steps until the learning rate reaches its peak", ""],
["option", "15-saving.html#option-schedule", "--schedule", "the options", "after the warm-up: inverse square root, or constant", ""],
["option", "15-saving.html#option-clip", "--clip", "the options", "largest norm of the gradient", ""],
["option", "15-saving.html#option-batch", "--batch", "the options", "sentences in a batch", ""],
["option", "15-saving.html#option-epochs", "--epochs", "the options", "passes through the data, in all", ""],
["option", "15-saving.html#option-steps", "--steps", "the options", "steps, in all; instead of epochs", ""],
["option", "15-saving.html#option-seed", "--seed", "the options", "of everything random", ""],
["option", "15-saving.html#option-model", "--model", "the options", "where to save the run", ""],
["option", "15-saving.html#option-from", "--from", "the options", "begin with the parameters and words of this model", ""],
["option", "15-saving.html#option-valid", "--valid", "the options", "pairs to measure progress on", ""],
["option", "15-saving.html#option-log", "--log", "the options", "write loss and learning rate of each step", ""],
["option", "15-saving.html#option-resume", "--resume", "the options", "go on where an earlier run stopped", ""],
["option", "15-saving.html#option-beam", "--beam", "the options", "hypotheses to keep while translating; 1 is greedy", ""],
["option", "15-saving.html#option-target", "--target", "the options", "the translation to look at (the model's own)", ""],
["option", "15-saving.html#option-csv", "--csv", "the options", "write all attention weights", ""],
["option", "15-saving.html#option-vocab", "--vocab", "the options", "size of both vocabularies", ""],
["option", "15-saving.html#option-threads", "--threads", "the options", "at most this many (all processors)", ""],
["option", "15-saving.html#option-help", "--help", "the options", "show this help", ""],
["macro", "00-manual.html#_XOPEN_SOURCE", "_XOPEN_SOURCE", "chapter 0", "", "#define _XOPEN_SOURCE 700 // POSIX, where there is one; before any header"],
["type", "01-numbers.html#real", "real", "chapter 1", "", "typedef float real;"],
["macro", "01-numbers.html#REAL", "REAL", "chapter 1", "", "#define REAL(function) (real)function // REAL(log)(x): log in double, rounded"],
["type", "01-numbers.html#Mat", "Mat", "chapter 1", "", "typedef struct {\n    real *at;\n    int rows, cols;\n    ptrdiff_t row_stride, col_stride;\n} Mat;"],
["function", "01-numbers.html#mat", "mat", "chapter 1", "A view of rows × cols numbers that lie row after row in memory.", "Mat mat(real *memory, int rows, int cols)"],
["function", "01-numbers.html#at", "at", "chapter 1", "Address of element (i, j), so that *at(m, i, j) reads and writes.", "real *at(Mat m, int i, int j)"],
["function", "01-numbers.html#row", "row", "chapter 1", "Start of row i.", "real *row(Mat m, int i)"],
["function", "01-numbers.html#transposed", "transposed", "chapter 1", "mᵀ, shape (cols, rows).", "Mat transposed(Mat m)"],
["function", "01-numbers.html#slice_rows", "slice_rows", "chapter 1", "Rows first … first + count - 1 of m, shape (count, cols).", "Mat slice_rows(Mat m, int first, int count)"],
["function", "01-numbers.html#slice_cols", "slice_cols", "chapter 1", "Columns first … first + count - 1 of m, shape (rows, count).", "Mat slice_cols(Mat m, int first, int count)"],
["function", "01-numbers.html#matmul_definition", "matmul_definition", "chapter 1", "c += a b; a (n, k), b (k, m), c (n, m), any views", "void matmul_definition(Mat c, Mat a, Mat b)"],
["macro", "01-numbers.html#SHAPE", "SHAPE", "chapter 1", "", "#define SHAPE(m, rows, cols) check_shape(__func__, #m, m, rows, cols)"],
["macro", "01-numbers.html#PRAGMA", "PRAGMA", "chapter 1", "", "#define PRAGMA(text) _Pragma(#text)"],
["macro", "01-numbers.html#PARALLEL_FOR", "PARALLEL_FOR", "chapter 1", "", "#define PARALLEL_FOR(work) \\"],
["type", "01-numbers.html#Arena", "Arena", "chapter 1", "", "typedef struct {\n    struct Block *top;     // where the memory comes from\n    size_t used, peak;     // bytes in use now, and at most so far\n    int sentences, tokens; // of a batch in training, for messages; 0: none\n} Arena;"],
["constant", "01-numbers.html#FOR_PARAMETERS", "FOR_PARAMETERS", "chapter 1", "", "enum { FOR_PARAMETERS = 1, FOR_ORDER, FOR_DROPOUT, FOR_BATCHES }; // keys"],
["constant", "01-numbers.html#FOR_ORDER", "FOR_ORDER", "chapter 1", "", "enum { FOR_PARAMETERS = 1, FOR_ORDER, FOR_DROPOUT, FOR_BATCHES }; // keys"],
["constant", "01-numbers.html#FOR_DROPOUT", "FOR_DROPOUT", "chapter 1", "", "enum { FOR_PARAMETERS = 1, FOR_ORDER, FOR_DROPOUT, FOR_BATCHES }; // keys"],
["constant", "01-numbers.html#FOR_BATCHES", "FOR_BATCHES", "chapter 1", "", "enum { FOR_PARAMETERS = 1, FOR_ORDER, FOR_DROPOUT, FOR_BATCHES }; // keys"],
["type", "02-attention.html#Mask", "Mask", "chapter 2", "", "typedef struct {\n    const unsigned char *visible; // NULL: everything is visible\n    ptrdiff_t sentence_stride;    // 0: the same for every sentence of a batch\n    ptrdiff_t row_stride;         // 0: the same for every query\n} Mask;"],
["function", "02-attention.html#mask_row", "mask_row", "chapter 2", "The visible keys of query i in sentence b, S bytes; or NULL for all of them.", "const unsigned char *mask_row(Mask mask, int b, int i)"],
["function", "02-attention.html#mask_of_sentence", "mask_of_sentence", "chapter 2", "The mask of sentence b alone.", "Mask mask_of_sentence(Mask mask, int b)"],
["function", "02-attention.html#max", "max", "chapter 2", "maxⱼ x[j], n numbers; -∞ if there are none. No comparison with NaN is true, so in a row of nothing but NaN, most is still -∞ at the end. Then the sum is returned: NaN for that row, but -∞ for one in which every key is hidden.", "real max(const real *x, int n)"],
["function", "02-attention.html#softmax_row", "softmax_row", "chapter 2", "x[j] = softmax over the visible x, n numbers, in place", "void softmax_row(real *x, const unsigned char *visible, int n)"],
["function", "02-attention.html#softmax_forward", "softmax_forward", "chapter 2", "scaled scores (T,S) become weights, row by row, in place", "void softmax_forward(Mat scores, Mask mask)"],
["function", "02-attention.html#softmax_backward", "softmax_backward", "chapter 2", "dw (T,S), the gradient of the weights w (T,S), becomes dscaled (T,S), in place: each element is overwritten after its last use.", "void softmax_backward(Mat dw, Mat w)"],
["type", "02-attention.html#Dropout", "Dropout", "chapter 2", "", "typedef struct {\n    real rate;\n    uint32_t key; // which numbers\n} Dropout;"],
["type", "02-attention.html#Head", "Head", "chapter 2", "", "typedef struct {\n    Mat q, k, v; // (T,K), (S,K), (S,K)\n    Mat weights; // (T,S) softmax(scaled)\n    Mat dropped; // (T,S) after dropout; without dropout it *is* weights\n    Mat out;     // (T,K)\n    real scale;  // of the scores: 1/√K\n    Dropout dropout;\n} Head;"],
["function", "02-attention.html#attention_forward", "attention_forward", "chapter 2", "out = dropout(softmax(scale · q kᵀ)) v [section 3.2.1, eq. 1]\nGiven: q (T,K), k and v (S,K), the mask (T,S) of one sentence. Written: weights and dropped (T,S), out (T,K).", "void attention_forward(Head a, Mask mask)"],
["function", "02-attention.html#attention_backward", "attention_backward", "chapter 2", "d.q, d.k and d.v are added to; d.out is given; d.weights is room. a is as the forward pass left it.", "void attention_backward(Head d, Head a)"],
["constant", "03-multi-head.html#POST_NORM", "POST_NORM", "chapter 3", "", "enum { POST_NORM, PRE_NORM, NORMS };                   // .norm, chapter 6"],
["constant", "03-multi-head.html#PRE_NORM", "PRE_NORM", "chapter 3", "", "enum { POST_NORM, PRE_NORM, NORMS };                   // .norm, chapter 6"],
["constant", "03-multi-head.html#NORMS", "NORMS", "chapter 3", "", "enum { POST_NORM, PRE_NORM, NORMS };                   // .norm, chapter 6"],
["constant", "03-multi-head.html#SINUSOIDAL", "SINUSOIDAL", "chapter 3", "", "enum { SINUSOIDAL, LEARNED, NO_POSITIONS, POSITIONS }; // .positions, chapter 4"],
["constant", "03-multi-head.html#LEARNED", "LEARNED", "chapter 3", "", "enum { SINUSOIDAL, LEARNED, NO_POSITIONS, POSITIONS }; // .positions, chapter 4"],
["constant", "03-multi-head.html#NO_POSITIONS", "NO_POSITIONS", "chapter 3", "", "enum { SINUSOIDAL, LEARNED, NO_POSITIONS, POSITIONS }; // .positions, chapter 4"],
["constant", "03-multi-head.html#POSITIONS", "POSITIONS", "chapter 3", "", "enum { SINUSOIDAL, LEARNED, NO_POSITIONS, POSITIONS }; // .positions, chapter 4"],
["constant", "03-multi-head.html#RELU", "RELU", "chapter 3", "", "enum { RELU, GELU, ACTIVATIONS };                      // .activation, chapter 5"],
["constant", "03-multi-head.html#GELU", "GELU", "chapter 3", "", "enum { RELU, GELU, ACTIVATIONS };                      // .activation, chapter 5"],
["constant", "03-multi-head.html#ACTIVATIONS", "ACTIVATIONS", "chapter 3", "", "enum { RELU, GELU, ACTIVATIONS };                      // .activation, chapter 5"],
["type", "03-multi-head.html#Config", "Config", "chapter 3", "", "typedef struct {\n    int layers;       // L: layers of the encoder, and as many of the decoder\n    int d_model;      // D: width of the vector that stands for a token\n    int heads;        // H: attention heads, each D/H = K wide\n    int d_ff;         // F: inner width of the feed-forward network\n    int source_vocab; // V of the source language\n    int target_vocab; // V of the target language\n    int max_len;      // longest sentence in tokens, not counting start and end\n    int norm, positions, activation; // one of the constants above\n    int tie;          // the output layer uses the target embedding's matrix\n    double dropout;   // share dropped in training: embeddings, sub-layers\n    double attention_dropout;  // attention weights, chapter 2\n    double activation_dropout; // inside the feed-forward network, chapter 5\n} Config;"],
["type", "03-multi-head.html#Pass", "Pass", "chapter 3", "", "typedef struct {\n    Arena *arena;\n    const Config *config;\n    bool training;  // dropout acts\n    uint64_t noise; // the next dropout's key is made from it\n    int sentences;  // B\n} Pass;"],
["function", "03-multi-head.html#next_dropout", "next_dropout", "chapter 3", "The dropout of the next place in the model: of that rate in training, else of rate 0. The forward pass asks for it and saves it for the backward pass.", "Dropout next_dropout(Pass *pass, double rate)"],
["type", "03-multi-head.html#Linear", "Linear", "chapter 3", "", "typedef struct {\n    Mat weight; // (I,O): I inputs, O outputs\n    Mat bias;   // (1,O)\n} Linear;"],
["function", "03-multi-head.html#linear_forward", "linear_forward", "chapter 3", "y = x W + b; x (N,I) -> y (N,O). A row_stride of 0 repeats the one row of b.", "Mat linear_forward(Pass *pass, const Linear *w, Mat x)"],
["function", "03-multi-head.html#add_column_sums", "add_column_sums", "chapter 3", "The gradient of a bias is a sum over rows. Threads that shared the rows would add to the same number; so they share the columns, and each sum is made by one thread, which reads and writes it once for every four rows.\n\ntotal[j] += Σᵢ x[i][j]; x (N,O), total (1,O)", "void add_column_sums(Mat total, Mat x)"],
["function", "03-multi-head.html#linear_backward", "linear_backward", "chapter 3", "dx (N,I) and dw are added to; dy (N,O), x (N,I) and w as in the forward pass", "void linear_backward(Mat dx, Linear *dw, Mat dy, Mat x, const Linear *w)"],
["function", "03-multi-head.html#head", "head", "chapter 3", "Block of head h in sentence b: m (B·rows, D) -> (rows, K)", "Mat head(Mat m, int b, int rows, int h, int K)"],
["type", "03-multi-head.html#MultiHead", "MultiHead", "chapter 3", "", "typedef struct {\n    Linear query, key, value, output; // (D,D) each\n} MultiHead;"],
["type", "03-multi-head.html#MultiHeadSaved", "MultiHeadSaved", "chapter 3", "", "typedef struct {\n    int sentences, heads; // B, H\n    Mat x, memory;        // (B·T,D) for queries, (B·S,D) for keys and values\n    Mat q, k, v;          // (B·T,D), (B·S,D), (B·S,D)\n    Mat weights, dropped; // (B·H·T,S): sentence by sentence, head by head;\n                          // without dropout one and the same\n    Mat context;          // (B·T,D): the heads' results side by side\n    Dropout dropout;\n} MultiHeadSaved;"],
["function", "03-multi-head.html#head_of", "head_of", "chapter 3", "Head i of B·H, as views: head i % H of sentence i / H. Each has a dropout of its own, since the same noise must not fall on every head. room is how many rows of k a sentence has: S, and more in the cache of chapter 12.", "Head head_of(const MultiHeadSaved *s, int i)"],
["function", "03-multi-head.html#make_keys", "make_keys", "chapter 3", "Keys and values of the memory (B·S,D): k and v, (B·S,D) each", "void make_keys(Pass *pass, MultiHeadSaved *s, const MultiHead *w, Mat memory)"],
["function", "03-multi-head.html#attend", "attend", "chapter 3", "Queries of x (B·T,D), compared with the first S keys of their sentence in s, with the mask (B of T,S) -> (B·T,D). Each head reads and writes blocks of its own, so the threads can share them.", "Mat attend(Pass *pass, MultiHeadSaved *s, const MultiHead *w, Mat x, int S,\n           Mask mask)"],
["function", "03-multi-head.html#multi_head_forward", "multi_head_forward", "chapter 3", "x (B·T,D), memory (B·S,D), mask (B of T,S) -> (B·T,D) [section 3.2.2]", "Mat multi_head_forward(Pass *pass, MultiHeadSaved *s, const MultiHead *w,\n                       Mat x, Mat memory, Mask mask)"],
["function", "03-multi-head.html#multi_head_backward", "multi_head_backward", "chapter 3", "d is the twin of s that holds the gradients. d->x (B·T,D), d->memory (B·S,D) and dw are added to; dout (B·T,D) given. The rest of d is scratch.", "void multi_head_backward(Pass *pass, MultiHeadSaved *d, const MultiHeadSaved *s,\n                         const MultiHead *w, MultiHead *dw, Mat dout)"],
["function", "04-embedding.html#sinusoidal_positions", "sinusoidal_positions", "chapter 4", "table (P,D): row t is the code of position t", "void sinusoidal_positions(Mat table)"],
["type", "04-embedding.html#EmbeddingSaved", "EmbeddingSaved", "chapter 4", "", "typedef struct {\n    const int *ids; // (B·T) tokens\n    int length;     // T\n    Dropout dropout;\n} EmbeddingSaved;"],
["function", "04-embedding.html#embedding_forward", "embedding_forward", "chapter 4", "x = dropout(√D · table[id] + positions[t])\n\nids (B·T), table (V,D), positions (P,D) with P ≥ T, or at = NULL for none -> x (B·T,D)", "Mat embedding_forward(Pass *pass, EmbeddingSaved *s, Mat table, Mat positions,\n                      const int *ids, int T)"],
["function", "04-embedding.html#embedding_backward", "embedding_backward", "chapter 4", "dtable (V,D) and dpositions (P,D; at = NULL if there is nothing to learn) are added to. dx (B·T,D) is given and overwritten: dropout acts on it in place.", "void embedding_backward(const EmbeddingSaved *s, Mat dtable, Mat dpositions,\n                        Mat dx)"],
["function", "05-feed-forward.html#cerf", "cerf", "chapter 5", "z, of which the imaginary part is tiny -> erf(z)", "real cerf(real z)"],
["function", "05-feed-forward.html#normal_below", "normal_below", "chapter 5", "The share Φ(x) of a normal distribution that lies below x.", "real normal_below(real x)"],
["function", "05-feed-forward.html#activation_forward", "activation_forward", "chapter 5", "to = activation(x), element by element; activation RELU or GELU; same shape", "void activation_forward(Mat to, Mat x, int activation)"],
["function", "05-feed-forward.html#activation_backward", "activation_backward", "chapter 5", "dy becomes dx, in place: dx = dy · activation'(x)", "void activation_backward(Mat dy, Mat x, int activation)"],
["type", "05-feed-forward.html#FeedForward", "FeedForward", "chapter 5", "", "typedef struct {\n    Linear inner; // (D,F)\n    Linear outer; // (F,D)\n} FeedForward;"],
["type", "05-feed-forward.html#FeedForwardSaved", "FeedForwardSaved", "chapter 5", "", "typedef struct {\n    Mat x;      // (N,D) the input\n    Mat inner;  // (N,F) before the activation\n    Mat active; // (N,F) after activation and dropout\n    Dropout dropout;\n} FeedForwardSaved;"],
["function", "05-feed-forward.html#ffn_forward", "ffn_forward", "chapter 5", "x (N,D) -> (N,D), N any number of positions [section 3.3]", "Mat ffn_forward(Pass *pass, FeedForwardSaved *s, const FeedForward *w, Mat x)"],
["function", "05-feed-forward.html#ffn_backward", "ffn_backward", "chapter 5", "Backward, the same four steps in reverse. Step (4) needs its input, active; step (2) needs the input of the activation, inner; so the forward pass has saved both. Dropout needs nothing but its key.\n\ndx (N,D) and dw are added to; dout (N,D) given", "void ffn_backward(Pass *pass, const FeedForwardSaved *s, const FeedForward *w,\n                  FeedForward *dw, Mat dx, Mat dout)"],
["macro", "06-residual.html#NORM_EPSILON", "NORM_EPSILON", "chapter 6", "", "#define NORM_EPSILON 1e-5"],
["type", "06-residual.html#Norm", "Norm", "chapter 6", "", "typedef struct {\n    Mat gain, bias; // (1,D)\n} Norm;"],
["type", "06-residual.html#NormSaved", "NormSaved", "chapter 6", "", "typedef struct {\n    Mat x;     // (N,D)\n    Mat mean;  // (N,1) μ of each row\n    Mat rstd;  // (N,1) 1/√(σ²+ε) of each row\n} NormSaved;"],
["function", "06-residual.html#norm_forward", "norm_forward", "chapter 6", "x (N,D) -> y (N,D) [section 3.1, 5.4]", "Mat norm_forward(Pass *pass, NormSaved *s, const Norm *w, Mat x)"],
["function", "06-residual.html#norm_backward", "norm_backward", "chapter 6", "The code undoes steps (3), (2) and (1) together, by the formula for dx_j. dx (N,D) and dw are added to; dy (N,D) given.", "void norm_backward(Pass *pass, const NormSaved *s, const Norm *w, Norm *dw,\n                   Mat dx, Mat dy)"],
["function", "06-residual.html#dropout_row", "dropout_row", "chapter 6", "In training, some of the weights are set to 0 at random, with probability rate, and the others divided by 1 - rate; chapter 6 says why, and has the function. It does nothing if the rate is 0, as it is when a model is used.", "void dropout_row(real *x, int n, int i, Dropout d)"],
["function", "06-residual.html#dropout", "dropout", "chapter 6", "In training, some of the weights are set to 0 at random, with probability rate, and the others divided by 1 - rate; chapter 6 says why, and has the function. It does nothing if the rate is 0, as it is when a model is used.", "void dropout(Mat x, Dropout d)"],
["type", "06-residual.html#ResidualSaved", "ResidualSaved", "chapter 6", "", "typedef struct {\n    NormSaved norm;\n    Dropout dropout;\n} ResidualSaved;"],
["function", "06-residual.html#residual_enter", "residual_enter", "chapter 6", "The input of the sub-layer: x, or norm(x); (N,D)", "Mat residual_enter(Pass *pass, ResidualSaved *s, const Norm *w, Mat x)"],
["function", "06-residual.html#residual_leave", "residual_leave", "chapter 6", "x + dropout(y), normalized or not; (N,D). The sum overwrites y.", "Mat residual_leave(Pass *pass, ResidualSaved *s, const Norm *w, Mat x, Mat y)"],
["function", "06-residual.html#residual_leave_backward", "residual_leave_backward", "chapter 6", "Backward of leave. dout (N,D) is the gradient of out; in post-norm it first goes back through the norm (dw is added to). Then the gradient of the sum goes both ways, unchanged: it is added to dx; and, with the same dropout, it is returned as dy (N,D).", "Mat residual_leave_backward(Pass *pass, const ResidualSaved *s, const Norm *w,\n                            Norm *dw, Mat dx, Mat dout)"],
["function", "06-residual.html#residual_enter_backward", "residual_enter_backward", "chapter 6", "Backward of enter: dx (N,D) is added to; dh (N,D), the gradient of the sub-layer's input, given", "void residual_enter_backward(Pass *pass, const ResidualSaved *s, const Norm *w,\n                             Norm *dw, Mat dx, Mat dh)"],
["type", "07-encoder.html#AttentionSublayer", "AttentionSublayer", "chapter 7", "", "typedef struct {\n    MultiHead multi_head;\n    Norm norm;\n} AttentionSublayer;"],
["type", "07-encoder.html#AttentionSublayerSaved", "AttentionSublayerSaved", "chapter 7", "", "typedef struct {\n    MultiHeadSaved multi_head;\n    ResidualSaved residual;\n} AttentionSublayerSaved;"],
["type", "07-encoder.html#FeedForwardSublayer", "FeedForwardSublayer", "chapter 7", "", "typedef struct {\n    FeedForward network;\n    Norm norm;\n} FeedForwardSublayer;"],
["type", "07-encoder.html#FeedForwardSublayerSaved", "FeedForwardSublayerSaved", "chapter 7", "", "typedef struct {\n    FeedForwardSaved network;\n    ResidualSaved residual;\n} FeedForwardSublayerSaved;"],
["function", "07-encoder.html#attention_sublayer_forward", "attention_sublayer_forward", "chapter 7", "x (B·T,D), memory (B·S,D) -> (B·T,D). Queries come from x, keys and values from memory; or from x, too, if memory.at is NULL: self-attention.\n\nIn pre-norm the queries come from norm(x), and in self-attention so do keys and values. The memory is taken as it is: the encoder has normalized it.", "Mat attention_sublayer_forward(Pass *pass, AttentionSublayerSaved *s,\n                               const AttentionSublayer *w, Mat x, Mat memory,\n                               Mask mask)"],
["function", "07-encoder.html#attention_sublayer_backward", "attention_sublayer_backward", "chapter 7", "dout (B·T,D) -> dx (B·T,D). dmemory (B·S,D; at = NULL for self-attention) and dw are added to. In self-attention d.x and d.memory are the same matrix.", "Mat attention_sublayer_backward(Pass *pass, const AttentionSublayerSaved *s,\n                                const AttentionSublayer *w,\n                                AttentionSublayer *dw, Mat dmemory, Mat dout)"],
["function", "07-encoder.html#ffn_sublayer_forward", "ffn_sublayer_forward", "chapter 7", "x (N,D) -> (N,D)", "Mat ffn_sublayer_forward(Pass *pass, FeedForwardSublayerSaved *s,\n                         const FeedForwardSublayer *w, Mat x)"],
["function", "07-encoder.html#ffn_sublayer_backward", "ffn_sublayer_backward", "chapter 7", "dout (N,D) -> dx (N,D); dw is added to", "Mat ffn_sublayer_backward(Pass *pass, const FeedForwardSublayerSaved *s,\n                          const FeedForwardSublayer *w, FeedForwardSublayer *dw,\n                          Mat dout)"],
["type", "07-encoder.html#EncoderLayer", "EncoderLayer", "chapter 7", "", "typedef struct {\n    AttentionSublayer self_attention;\n    FeedForwardSublayer feed_forward;\n} EncoderLayer;"],
["type", "07-encoder.html#EncoderLayerSaved", "EncoderLayerSaved", "chapter 7", "", "typedef struct {\n    AttentionSublayerSaved self_attention;\n    FeedForwardSublayerSaved feed_forward;\n} EncoderLayerSaved;"],
["function", "07-encoder.html#encoder_layer_forward", "encoder_layer_forward", "chapter 7", "x (B·S,D), source_mask over the keys (B of S,S) -> (B·S,D)", "Mat encoder_layer_forward(Pass *pass, EncoderLayerSaved *s,\n                          const EncoderLayer *w, Mat x, Mask source_mask)"],
["function", "07-encoder.html#encoder_layer_backward", "encoder_layer_backward", "chapter 7", "dout (B·S,D) -> the gradient of the layer's input, (B·S,D); dw is added to", "Mat encoder_layer_backward(Pass *pass, const EncoderLayerSaved *s,\n                           const EncoderLayer *w, EncoderLayer *dw, Mat dout)"],
["type", "07-encoder.html#Encoder", "Encoder", "chapter 7", "", "typedef struct {\n    EncoderLayer *layer; // L of them\n    Norm norm;           // pre-norm only\n} Encoder;"],
["type", "07-encoder.html#EncoderSaved", "EncoderSaved", "chapter 7", "", "typedef struct {\n    EncoderLayerSaved *layer; // L of them\n    NormSaved norm;\n} EncoderSaved;"],
["function", "07-encoder.html#encoder_forward", "encoder_forward", "chapter 7", "x: embedded source (B·S,D), source_mask over its keys -> (B·S,D), what the decoder will look at. x may come from chapter 4 or from anywhere else: an experiment can blank or exchange embeddings before it calls this.", "Mat encoder_forward(Pass *pass, EncoderSaved *s, const Encoder *w, Mat x,\n                    Mask source_mask)"],
["function", "07-encoder.html#encoder_backward", "encoder_backward", "chapter 7", "dout (B·S,D) -> gradient of the embedded source, (B·S,D); dw is added to", "Mat encoder_backward(Pass *pass, const EncoderSaved *s, const Encoder *w,\n                     Encoder *dw, Mat dout)"],
["type", "08-decoder.html#DecoderLayer", "DecoderLayer", "chapter 8", "", "typedef struct {\n    AttentionSublayer self_attention, cross_attention;\n    FeedForwardSublayer feed_forward;\n} DecoderLayer;"],
["type", "08-decoder.html#DecoderLayerSaved", "DecoderLayerSaved", "chapter 8", "", "typedef struct {\n    AttentionSublayerSaved self_attention, cross_attention;\n    FeedForwardSublayerSaved feed_forward;\n} DecoderLayerSaved;"],
["type", "08-decoder.html#Masks", "Masks", "chapter 8", "", "typedef struct {\n    Mask source; // (B of T,S): keys of the encoder and of cross-attention\n    Mask target; // (B of T,T): keys of the decoder's self-attention\n} Masks;"],
["function", "08-decoder.html#decoder_layer_forward", "decoder_layer_forward", "chapter 8", "x (B·T,D), memory: the encoder's output (B·S,D) -> (B·T,D)", "Mat decoder_layer_forward(Pass *pass, DecoderLayerSaved *s,\n                          const DecoderLayer *w, Mat x, Mat memory,\n                          Masks masks)"],
["function", "08-decoder.html#decoder_layer_backward", "decoder_layer_backward", "chapter 8", "dout (B·T,D) -> the gradient of the layer's input, (B·T,D); dmemory (B·S,D) and dw are added to", "Mat decoder_layer_backward(Pass *pass, const DecoderLayerSaved *s,\n                           const DecoderLayer *w, DecoderLayer *dw,\n                           Mat dmemory, Mat dout)"],
["type", "08-decoder.html#Decoder", "Decoder", "chapter 8", "", "typedef struct {\n    DecoderLayer *layer; // L of them\n    Norm norm;           // pre-norm only\n} Decoder;"],
["type", "08-decoder.html#DecoderSaved", "DecoderSaved", "chapter 8", "", "typedef struct {\n    DecoderLayerSaved *layer; // L of them\n    NormSaved norm;\n} DecoderSaved;"],
["function", "08-decoder.html#decoder_forward", "decoder_forward", "chapter 8", "x: embedded target (B·T,D), memory (B·S,D) -> (B·T,D)", "Mat decoder_forward(Pass *pass, DecoderSaved *s, const Decoder *w, Mat x,\n                    Mat memory, Masks masks)"],
["function", "08-decoder.html#decoder_backward", "decoder_backward", "chapter 8", "dout (B·T,D) -> gradient of the embedded target, (B·T,D); dmemory (B·S,D) and dw are added to", "Mat decoder_backward(Pass *pass, const DecoderSaved *s, const Decoder *w,\n                     Decoder *dw, Mat dmemory, Mat dout)"],
["constant", "08-decoder.html#NAME_SIZE", "NAME_SIZE", "chapter 8", "", "enum { NAME_SIZE = 64 };"],
["type", "08-decoder.html#Name", "Name", "chapter 8", "", "typedef struct {\n    char text[NAME_SIZE];\n} Name;"],
["constant", "08-decoder.html#INIT_XAVIER", "INIT_XAVIER", "chapter 8", "", "enum { INIT_XAVIER, INIT_ZEROS, INIT_ONES };"],
["constant", "08-decoder.html#INIT_ZEROS", "INIT_ZEROS", "chapter 8", "", "enum { INIT_XAVIER, INIT_ZEROS, INIT_ONES };"],
["constant", "08-decoder.html#INIT_ONES", "INIT_ONES", "chapter 8", "", "enum { INIT_XAVIER, INIT_ZEROS, INIT_ONES };"],
["type", "08-decoder.html#Tensor", "Tensor", "chapter 8", "", "typedef struct {\n    Name name;      // dotted: encoder.0.self_attention.query.weight\n    Mat *mat;       // its place in the model\n    int rows, cols;\n    int init;       // how it begins: one of the constants above\n} Tensor;"],
["type", "08-decoder.html#TensorList", "TensorList", "chapter 8", "", "typedef struct {\n    Tensor *tensor; // `tensors` of them\n    int tensors;\n    real *values;   // all their numbers, one tensor after the other\n    size_t count;   // how many numbers\n} TensorList;"],
["function", "08-decoder.html#join", "join", "chapter 8", "Two strings joined, for the names of tensors; fails if they do not fit.", "Name join(const char *a, const char *b)"],
["function", "08-decoder.html#list_tensor", "list_tensor", "chapter 8", "Appends one tensor, without numbers yet.", "void list_tensor(TensorList *l, Mat *mat, int rows, int cols, int init,\n                 Name name)"],
["function", "08-decoder.html#place_tensors", "place_tensors", "chapter 8", "Takes memory for all numbers, which begin as zeros, and gives each tensor its place in it.", "void place_tensors(TensorList *l)"],
["function", "08-decoder.html#list_free", "list_free", "chapter 8", "Stands below place_tensors, without a contract of its own.", "void list_free(TensorList *l)"],
["function", "08-decoder.html#initialize", "initialize", "chapter 8", "How a model begins. All zeros would not do: in a product of two matrices each gets its gradient through the other, so both would stay zero forever. Equal numbers would not do either: equal columns get equal gradients and stay equal. So every matrix begins with numbers spread evenly between ±√(6/(in+out)), which keeps the variance of signals about the same from layer to layer, forward and backward. (Glorot and Bengio, 2010; it is called Xavier initialization, after the first author. For a table, in is V and out is D.) Biases begin at 0, gains at 1.", "void initialize(const TensorList *l, uint64_t seed)"],
["function", "08-decoder.html#list_linear", "list_linear", "chapter 8", "What the parts of a model are made of. A linear layer: in × out weights and out biases.", "void list_linear(TensorList *l, Linear *w, int in, int out, Name path)"],
["function", "08-decoder.html#list_norm", "list_norm", "chapter 8", "A norm: D gains and D biases.", "void list_norm(TensorList *l, Norm *w, int D, Name path)"],
["function", "08-decoder.html#list_attention", "list_attention", "chapter 8", "Attention: four linear layers, D to D, and the norm of its residual.", "void list_attention(TensorList *l, AttentionSublayer *w, int D, Name path)"],
["function", "08-decoder.html#list_ffn", "list_ffn", "chapter 8", "The feed-forward network: D to F and back, and the norm of its residual.", "void list_ffn(TensorList *l, FeedForwardSublayer *w, int D, int F, Name path)"],
["function", "08-decoder.html#list_encoder", "list_encoder", "chapter 8", "The encoder: L layers and, in pre-norm, a final norm.", "void list_encoder(TensorList *l, Encoder *e, const Config *c)"],
["function", "08-decoder.html#list_decoder", "list_decoder", "chapter 8", "The decoder: the same with cross-attention.", "void list_decoder(TensorList *l, Decoder *d, const Config *c)"],
["function", "08-decoder.html#list_table", "list_table", "chapter 8", "A table with a row of D numbers for each of V tokens, or of P positions.", "void list_table(TensorList *l, Mat *table, int rows, int D, const char *name)"],
["type", "08-decoder.html#Transformer", "Transformer", "chapter 8", "", "typedef struct {\n    Config config;\n    Mat source_embedding;  // (V,D), V of the source language\n    Mat target_embedding;  // (V,D), V of the target language\n    Mat source_positions;  // (P,D), P = max_len + 1; at = NULL: none\n    Mat target_positions;  // (P,D); the 1 is for the start or the end token\n    Encoder encoder;\n    Decoder decoder;\n    Linear output;         // (D,V); tied: the target embedding, transposed\n    TensorList list;       // of all the above\n} Transformer;"],
["function", "08-decoder.html#transformer_outline", "transformer_outline", "chapter 8", "The model and its list, without memory for the numbers. The order of the list is the order in a saved model (chapter 15).", "Transformer *transformer_outline(const Config *c)"],
["function", "08-decoder.html#transformer_place", "transformer_place", "chapter 8", "Places the numbers of an outline. A tied output layer is not in the list: it reads the embedding's matrix in the other direction.", "void transformer_place(Transformer *t)"],
["function", "08-decoder.html#add_sinusoids", "add_sinusoids", "chapter 8", "The table of sines and cosines is not in the list either, since it is not learned. Source and target share it.", "void add_sinusoids(Transformer *t)"],
["function", "08-decoder.html#transformer_zeros", "transformer_zeros", "chapter 8", "The gradients of all parameters, zero. They have the struct of the model and so the same names: their encoder.layer[0] is the gradient of the model's.", "Transformer *transformer_zeros(const Config *config)"],
["function", "08-decoder.html#transformer_new", "transformer_new", "chapter 8", "A model; its parameters are zero, and wait for initialize.", "Transformer *transformer_new(const Config *config)"],
["function", "08-decoder.html#transformer_free", "transformer_free", "chapter 8", "Gives everything back; NULL is fine.", "void transformer_free(Transformer *t)"],
["type", "08-decoder.html#Saved", "Saved", "chapter 8", "", "typedef struct {\n    EmbeddingSaved source, target;\n    EncoderSaved encoder;\n    DecoderSaved decoder;\n    Mat memory; // (B·S,D) the encoder's output\n    Mat hidden; // (B·T,D) the decoder's output\n} Saved;"],
["function", "08-decoder.html#encode", "encode", "chapter 8", "ids (B·S), source_mask over source keys -> memory (B·S,D)", "Mat encode(Pass *pass, Saved *s, const Transformer *t, const int *ids, int S,\n           Mask source_mask)"],
["function", "08-decoder.html#decode", "decode", "chapter 8", "ids (B·T), with the memory that encode has left in s -> logits (B·T,V). transformer_forward, which makes the masks and calls both, follows in chapter 9.", "Mat decode(Pass *pass, Saved *s, const Transformer *t, const int *ids, int T,\n           Masks masks)"],
["function", "08-decoder.html#transformer_backward", "transformer_backward", "chapter 8", "dlogits (B·T,V) -> all gradients, added to g, made by transformer_zeros", "void transformer_backward(Pass *pass, const Saved *s, const Transformer *t,\n                          Transformer *g, Mat dlogits)"],
["constant", "09-masks.html#PAD", "PAD", "chapter 9", "", "enum { PAD, START, END, UNKNOWN, FIRST_TOKEN };"],
["constant", "09-masks.html#START", "START", "chapter 9", "", "enum { PAD, START, END, UNKNOWN, FIRST_TOKEN };"],
["constant", "09-masks.html#END", "END", "chapter 9", "", "enum { PAD, START, END, UNKNOWN, FIRST_TOKEN };"],
["constant", "09-masks.html#UNKNOWN", "UNKNOWN", "chapter 9", "", "enum { PAD, START, END, UNKNOWN, FIRST_TOKEN };"],
["constant", "09-masks.html#FIRST_TOKEN", "FIRST_TOKEN", "chapter 9", "", "enum { PAD, START, END, UNKNOWN, FIRST_TOKEN };"],
["function", "09-masks.html#padding_mask", "padding_mask", "chapter 9", "ids (B·S) of the source, used by the encoder's self-attention and by cross-attention: the same row for every query.", "Mask padding_mask(Arena *arena, const int *ids, int B, int S)"],
["function", "09-masks.html#causal_mask", "causal_mask", "chapter 9", "Query i sees key j if j ≤ i: T × T, the same for every sentence.", "Mask causal_mask(Arena *arena, int T)"],
["function", "09-masks.html#causal_padding_mask", "causal_padding_mask", "chapter 9", "Query i sees key j if j ≤ i and key j is not padding: T × T for each sentence. ids (B·T) of the target.", "Mask causal_padding_mask(Arena *arena, const int *ids, int B, int T)"],
["type", "09-masks.html#Batch", "Batch", "chapter 9", "", "typedef struct {\n    int sentences;      // B\n    int source_length;  // S\n    int target_length;  // T\n    int *source;        // (B·S) source words, end, padding\n    int *input;         // (B·T) start, target words, padding\n    int *expected;      // (B·T) target words, end, padding\n} Batch;"],
["function", "09-masks.html#transformer_forward", "transformer_forward", "chapter 9", "batch -> logits (B·T,V); s keeps what transformer_backward needs", "Mat transformer_forward(Pass *pass, Saved *s, const Transformer *t,\n                        const Batch *batch)"],
["type", "10-batches.html#Sentence", "Sentence", "chapter 10", "", "typedef struct {\n    int *id;\n    int length; // with END\n} Sentence;"],
["function", "10-batches.html#sentences_free", "sentences_free", "chapter 10", "A sentence is stored as the numbers of its tokens, followed by END, which the decoder must learn to write.", "void sentences_free(Sentence *s, int n)"],
["type", "10-batches.html#Pairs", "Pairs", "chapter 10", "", "typedef struct {\n    Sentence *source, *target; // `count` of each\n    int count;\n    int too_long; // pairs that were left out\n} Pairs;"],
["function", "10-batches.html#pairs_free", "pairs_free", "chapter 10", "Pairs as numbers.", "void pairs_free(Pairs *p)"],
["constant", "10-batches.html#POOL", "POOL", "chapter 10", "", "enum { POOL = 8 }; // batches in a pool"],
["function", "10-batches.html#shuffle", "shuffle", "chapter 10", "Shuffles n items of width numbers, pairs or whole batches: from the last to the first, each is swapped with itself or one before it (Fisher and Yates).", "void shuffle(int *item, int n, int width, uint64_t key)"],
["function", "10-batches.html#sort_by_length", "sort_by_length", "chapter 10", "Sorts n indices of sentences by length, going through the list once for each length. Sentences of equal length keep their order, so sorting by source and then by target orders pairs whose targets are equally long by their sources.", "void sort_by_length(int *index, int n, const Sentence *s)"],
["function", "10-batches.html#batches_in_epoch", "batches_in_epoch", "chapter 10", "Batches of an epoch. The last one may be smaller than batch_size.", "int batches_in_epoch(int pairs, int batch_size)"],
["function", "10-batches.html#epoch_order", "epoch_order", "chapter 10", "order[i] is the index of the pair at place i, and batch k begins at place k·batch_size. The last batch, which may be smaller, stays the last.", "void epoch_order(int *order, const Pairs *p, int batch_size, uint64_t seed,\n                 int64_t epoch)"],
["function", "10-batches.html#pack", "pack", "chapter 10", "Packs the B sentences with these indices, one in each row, padded to the longest, whose length is stored in *length -> ids (B·length), in the arena", "int *pack(Arena *arena, const Sentence *s, const int *index, int B,\n          int *length)"],
["function", "10-batches.html#make_batch", "make_batch", "chapter 10", "A batch of the B pairs with these indices, in the arena. The decoder's input is what is expected, moved by one position (chapter 9).", "Batch make_batch(Arena *arena, const Pairs *p, const int *index, int B)"],
["type", "11-training.html#Loss", "Loss", "chapter 11", "", "typedef struct {\n    double loss;          // sum over the tokens, as trained (smoothed)\n    double cross_entropy; // sum over the tokens, without smoothing\n    int64_t tokens;       // expected tokens that are not padding\n    int64_t correct;      // whose most probable word is the expected one\n} Loss;"],
["function", "11-training.html#add_losses", "add_losses", "chapter 11", "The sums of two parts of a batch, or of two batches.", "Loss add_losses(Loss a, Loss b)"],
["function", "11-training.html#average", "average", "chapter 11", "The mean cross-entropy per token in nats, without label smoothing.", "double average(Loss l)"],
["function", "11-training.html#accuracy", "accuracy", "chapter 11", "The share of tokens whose most probable word is the right one, from 0 to 1. Like the mean loss, it is measured with teacher forcing.", "double accuracy(Loss l)"],
["function", "11-training.html#tokens_expected", "tokens_expected", "chapter 11", "The tokens of a batch that count.", "int64_t tokens_expected(const Batch *batch)"],
["function", "11-training.html#arg_max", "arg_max", "chapter 11", "Index of the largest of x[first] … x[n-1]; ties go to the lowest index.", "int arg_max(const real *x, int first, int n)"],
["function", "11-training.html#loss_forward", "loss_forward", "chapter 11", "logits (N,V), expected (N), ε -> the sums; lse (N,1) is saved. An unknown word is never correct.", "Loss loss_forward(Mat lse, Mat logits, const int *expected, double smoothing,\n                  Arena *arena)"],
["function", "11-training.html#loss_backward", "loss_backward", "chapter 11", "logits (N,V), lse (N,1) and expected (N) as in loss_forward; tokens: its count. dlogits (N,V) is written, not added to, and may be the logits themselves: each of them is needed just once more, here.", "void loss_backward(Mat dlogits, Mat logits, Mat lse, const int *expected,\n                   double smoothing, int64_t tokens)"],
["function", "11-training.html#l2_norm", "l2_norm", "chapter 11", "√Σ x² over n numbers: always in 64 parts, however many threads there are, so that the sum is always the same.", "double l2_norm(const real *x, size_t n)"],
["function", "11-training.html#clip_factor", "clip_factor", "chapter 11", "The factor that brings a gradient of the given norm down to clip.", "double clip_factor(double norm, double clip)"],
["type", "11-training.html#Adam", "Adam", "chapter 11", "", "typedef struct {\n    real *p, *m, *v;\n    const real *gradient;\n    size_t count;\n    double beta1, beta2, epsilon;\n} Adam;"],
["function", "11-training.html#paper_adam", "paper_adam", "chapter 11", "With the paper's constants. (PyTorch's defaults are 0.9, 0.999 and 1e-8.)", "Adam paper_adam(real *p, real *m, real *v, const real *gradient, size_t count)"],
["function", "11-training.html#without_dust", "without_dust", "chapter 11", "Without gradients, as for a rare word, m and v shrink in each step, until they are so small that processors take a hundred times as long for them (subnormal numbers). They are set to 0 long before that.", "real without_dust(real x)"],
["function", "11-training.html#adam_step", "adam_step", "chapter 11", "Step number t, from 1: p moves, m and v are brought up to date; the gradient is multiplied by factor first.", "void adam_step(Adam a, double factor, double rate, int64_t t)"],
["constant", "11-training.html#NOAM", "NOAM", "chapter 11", "", "enum { NOAM, CONSTANT, SCHEDULES }; // Recipe.schedule; constant warms up too"],
["constant", "11-training.html#CONSTANT", "CONSTANT", "chapter 11", "", "enum { NOAM, CONSTANT, SCHEDULES }; // Recipe.schedule; constant warms up too"],
["constant", "11-training.html#SCHEDULES", "SCHEDULES", "chapter 11", "", "enum { NOAM, CONSTANT, SCHEDULES }; // Recipe.schedule; constant warms up too"],
["type", "11-training.html#Recipe", "Recipe", "chapter 11", "", "typedef struct {\n    double rate;      // the peak of the learning rate\n    int warmup;       // steps\n    int schedule;\n    double clip;      // largest norm of the gradient\n    double smoothing; // ε\n    int batch;        // sentences\n    int epochs;       // passes through the data, unless `steps` is given\n    int steps;        // steps in all; 0: as many as `epochs` take\n    int seed;\n} Recipe;"],
["function", "11-training.html#learning_rate", "learning_rate", "chapter 11", "The rate of step t, which counts from 1.", "double learning_rate(const Recipe *r, int64_t t)"],
["type", "11-training.html#Trainer", "Trainer", "chapter 11", "", "typedef struct {\n    Recipe recipe;\n    Transformer *model, *gradient;\n    real *m, *v;    // Adam's moments, as many as there are parameters\n    int64_t step;   // steps done\n    Arena arena;\n} Trainer;"],
["type", "11-training.html#Step", "Step", "chapter 11", "", "typedef struct {\n    int64_t step;         // its number, from 1\n    Loss loss;            // of its batch\n    double rate;          // learning rate\n    double gradient_norm; // before clipping\n} Step;"],
["function", "11-training.html#trainer_new", "trainer_new", "chapter 11", "Memory to train a model, which then belongs to the trainer. The caller gives all of it back with trainer_free.", "Trainer trainer_new(Transformer *model, Transformer *gradient,\n                    const Recipe *recipe)"],
["function", "11-training.html#trainer_free", "trainer_free", "chapter 11", "Stands below trainer_new, without a contract of its own.", "void trainer_free(Trainer *t)"],
["function", "11-training.html#add_gradient", "add_gradient", "chapter 11", "Forward, loss, backward. The gradient of the batch's summed loss, divided by tokens, is added to t->gradient. noise is the key of all its dropout.", "Loss add_gradient(Trainer *t, const Batch *batch, int64_t tokens,\n                  uint64_t noise)"],
["function", "11-training.html#update", "update", "chapter 11", "The second half changes the parameters. If the loss or the gradient is not a finite number, the parameters and t->step stay as they were.", "Step update(Trainer *t, Loss loss)"],
["function", "11-training.html#noise_of_step", "noise_of_step", "chapter 11", "The key of the noise in step t->step + 1.", "uint64_t noise_of_step(const Trainer *t)"],
["function", "11-training.html#train_step", "train_step", "chapter 11", "The whole step.", "Step train_step(Trainer *t, const Batch *batch)"],
["function", "11-training.html#evaluate_loss", "evaluate_loss", "chapter 11", "The sums over all pairs, in batches of batch_size. The arena is left as it was.", "Loss evaluate_loss(const Transformer *model, const Pairs *p, int batch_size,\n                   double smoothing, Arena *arena)"],
["function", "11-training.html#total_steps", "total_steps", "chapter 11", "How many steps the recipe asks for with that many pairs.", "int64_t total_steps(const Recipe *r, int pairs)"],
["type", "11-training.html#Course", "Course", "chapter 11", "", "typedef struct {\n    const Pairs *pairs;\n    int *order;    // as many as there are pairs\n    int64_t epoch; // -1: none yet\n} Course;"],
["function", "11-training.html#next_batch", "next_batch", "chapter 11", "The batch of the step that follows step steps, in the arena.", "Batch next_batch(Course *c, const Recipe *r, int64_t step, Arena *arena)"],
["type", "11-training.html#Reporter", "Reporter", "chapter 11", "", "typedef bool Reporter(void *context, const Step *step);"],
["function", "11-training.html#train", "train", "chapter 11", "Trains up to the recipe's total number of steps, from wherever the trainer is. Returns false if a loss or gradient was not finite; the parameters are then those of the step before.", "bool train(Trainer *t, const Pairs *data, Reporter *reporter, void *context)"],
["type", "12-decoding.html#LayerCache", "LayerCache", "chapter 12", "", "typedef struct {\n    MultiHeadSaved self;  // k, v (B·P,D): P rows for each sentence, t in use\n    MultiHeadSaved cross; // k, v (B·S,D)\n} LayerCache;"],
["type", "12-decoding.html#Cache", "Cache", "chapter 12", "", "typedef struct {\n    const Transformer *model;\n    int length;        // t: positions decoded\n    Mask source_mask;\n    LayerCache *layer; // L of them\n} Cache;"],
["function", "12-decoding.html#empty_cache", "empty_cache", "chapter 12", "Room for the keys and values of so many positions.", "MultiHeadSaved empty_cache(Arena *arena, const MultiHead *w, int rows)"],
["function", "12-decoding.html#decoder_start", "decoder_start", "chapter 12", "Encodes the source, ids (B·S), and makes a cache for P positions, in the arena.", "Cache decoder_start(Pass *pass, const Transformer *t, const int *ids, int B,\n                    int S, int P)"],
["function", "12-decoding.html#extend_cache", "extend_cache", "chapter 12", "Writes key and value of the new position t of each sentence, x (B,D), to rows b·P + t of the cache s. A row stride of a whole sentence makes a view of these rows.", "void extend_cache(Pass *pass, MultiHeadSaved *s, const MultiHead *w, Mat x,\n                  int t)"],
["function", "12-decoding.html#decoder_layer_step", "decoder_layer_step", "chapter 12", "The layer of chapter 8 for one new position in each sentence: x (B,D) -> (B,D). Self-attention needs no mask: the cache holds nothing later than x.", "Mat decoder_layer_step(Pass *pass, const DecoderLayer *w, LayerCache *layer,\n                       const Cache *c, Mat x)"],
["function", "12-decoding.html#decoder_step", "decoder_step", "chapter 12", "One step of the decoder: the last tokens, id (B), go in, and the logits of the next ones (B,V) come out. There is room for P steps.", "Mat decoder_step(Pass *pass, Cache *c, const int *id)"],
["function", "12-decoding.html#longest_output", "longest_output", "chapter 12", "The most tokens of the translation of a source of S tokens, END included.", "int longest_output(const Transformer *model, int S)"],
["function", "12-decoding.html#tokens_in", "tokens_in", "chapter 12", "How many tokens a row has before its padding.", "int tokens_in(const int *row, int length)"],
["function", "12-decoding.html#log_sum_exp", "log_sum_exp", "chapter 12", "How probable is a translation? The logarithms of its tokens' probabilities are added. Each is the logit minus the lse of chapter 11.\n\nlog Σⱼ e^(z[j]), V numbers; the largest is taken out first, as in softmax", "double log_sum_exp(const real *z, int V)"],
["function", "12-decoding.html#translate", "translate", "chapter 12", "Translates the sources of a batch. out (B·P), with P = longest_output(model, S), receives the tokens, then END (unless it was cut off), then PAD; logs (B) receives the logarithm of each translation's probability.", "void translate(const Transformer *model, const Batch *batch, int *out,\n               double *logs, Arena *arena)"],
["type", "12-decoding.html#Hypothesis", "Hypothesis", "chapter 12", "", "typedef struct {\n    double sum; // of the logarithms of all its tokens; -∞: there is none\n    int row, token;\n} Hypothesis;"],
["type", "12-decoding.html#Beam", "Beam", "chapter 12", "", "typedef struct {\n    Hypothesis *step; // (P+1,N): after each step those that are open\n    int longest;      // a translation has no more tokens\n    Hypothesis best;  // of those that have finished\n    double score;     // its score; -∞: none has finished\n    int length;       // its tokens\n} Beam;"],
["function", "12-decoding.html#length_penalty", "length_penalty", "chapter 12", "The search for one sentence.", "double length_penalty(int length, double A)"],
["function", "12-decoding.html#best_candidates", "best_candidates", "chapter 12", "The N best candidates, the best first, and how many there are: open hypotheses (N), each with one more token; logits (N,V). Of equals the first is better.", "int best_candidates(Hypothesis *best, const Hypothesis *open, Mat logits)"],
["function", "12-decoding.html#finish_hypothesis", "finish_hypothesis", "chapter 12", "Keeps a finished translation of that length if it is the best so far.", "void finish_hypothesis(Beam *b, Hypothesis h, int length, double A)"],
["function", "12-decoding.html#beam_step", "beam_step", "chapter 12", "Step t of one sentence: with its logits (N,V), from the hypotheses of this step to those of the next -> how many of these are open; they come first", "int beam_step(Beam *b, int t, Mat logits, double A)"],
["function", "12-decoding.html#reorder", "reorder", "chapter 12", "Row r of B now continues row from[r]; m (B·P,D) is k or v, n positions in use", "void reorder(Arena *arena, Mat m, const int *from, int B, int n)"],
["function", "12-decoding.html#reorder_cache", "reorder_cache", "chapter 12", "Stands below reorder, without a contract of its own.", "void reorder_cache(Arena *arena, Cache *c, const int *from, int B)"],
["function", "12-decoding.html#write_best", "write_best", "chapter 12", "The best finished translation, from its last token back to its first, and padding up to P -> out (P)", "void write_best(int *out, const Beam *b, int N, int P)"],
["function", "12-decoding.html#beam_new", "beam_new", "chapter 12", "A search with N hypotheses of up to P tokens. It begins with one, still empty.", "Beam beam_new(Arena *arena, int N, int P, int longest)"],
["function", "12-decoding.html#beam_search", "beam_search", "chapter 12", "Like translate, but with a beam of N. Each source fills N successive rows of the batch, which has B·N rows. out (B·P), logs (B).", "void beam_search(const Transformer *model, const Batch *batch, int N, int *out,\n                 double *logs, Arena *arena)"],
["function", "12-decoding.html#translate_batch", "translate_batch", "chapter 12", "The translations of a batch: greedy, or with a beam of N, where each source fills N rows -> ids (B·P), in the arena", "int *translate_batch(const Transformer *model, const Batch *batch, int N,\n                     Arena *arena)"],
["function", "12-decoding.html#translate_all", "translate_all", "chapter 12", "Translates n sentences, greedily with a beam of 1; result[i] ends with END unless it was cut off. The caller frees the sentences.", "Sentence *translate_all(const Transformer *model, const Sentence *source, int n,\n                        int beam, Arena *arena)"],
["type", "12-decoding.html#Match", "Match", "chapter 12", "", "typedef struct {\n    double matched[4], runs[4]; // runs of 1 … 4 words\n    double length, reference;   // c and r\n    int exact, sentences;\n} Match;"],
["function", "12-decoding.html#occurrences", "occurrences", "chapter 12", "How often the n words at run occur in s (without its END).", "int occurrences(const int *run, int n, const int *s, int length)"],
["function", "12-decoding.html#words_of", "words_of", "chapter 12", "How many words a sentence has, without END.", "int words_of(Sentence s)"],
["function", "12-decoding.html#unknowns", "unknowns", "chapter 12", "How many of n tokens are unknown.", "int unknowns(const int *id, int n)"],
["function", "12-decoding.html#add_match", "add_match", "chapter 12", "Adds one translation, of c words, and its reference, of r, to the counts.", "void add_match(Match *m, Sentence s, Sentence reference)"],
["function", "12-decoding.html#bleu", "bleu", "chapter 12", "BLEU in percent; 0 if no run of some length matches.", "double bleu(const Match *m)"],
["constant", "13-looking.html#ENCODER", "ENCODER", "chapter 13", "", "enum { ENCODER, DECODER, CROSS, KINDS };"],
["constant", "13-looking.html#DECODER", "DECODER", "chapter 13", "", "enum { ENCODER, DECODER, CROSS, KINDS };"],
["constant", "13-looking.html#CROSS", "CROSS", "chapter 13", "", "enum { ENCODER, DECODER, CROSS, KINDS };"],
["constant", "13-looking.html#KINDS", "KINDS", "chapter 13", "", "enum { ENCODER, DECODER, CROSS, KINDS };"],
["table", "13-looking.html#kind_name", "kind_name", "chapter 13", "", "const char *const kind_name[KINDS] = {\n    [ENCODER] = \"encoder\", [DECODER] = \"decoder\", [CROSS] = \"cross\"};"],
["function", "13-looking.html#attention_of", "attention_of", "chapter 13", "The weights of one head in one layer, for a batch of one sentence, as a view. Row i shows how query i distributes its attention; it sums to 1.", "Mat attention_of(const Saved *s, int kind, int layer, int h, int H)"],
["function", "13-looking.html#look", "look", "chapter 13", "Runs one pair of sentences through the model, teacher-forced; s then holds the weights. Returns the batch, whose tokens are those of rows and columns.", "Batch look(Pass *pass, Saved *s, const Transformer *t, Sentence source,\n           Sentence target)"],
["macro", "13-looking.html#ATTENTION_HEADER", "ATTENTION_HEADER", "chapter 13", "", "#define ATTENTION_HEADER \\"],
["function", "13-looking.html#write_quoted", "write_quoted", "chapter 13", "Writes a token in quotes, followed by the character end.", "void write_quoted(FILE *file, const char *token, char end)"],
["function", "13-looking.html#write_attention_csv", "write_attention_csv", "chapter 13", "All weights of all kinds, layers and heads; pass and s are those of look(). The names are those of the tokens that the encoder and the decoder have read.", "void write_attention_csv(FILE *file, const Pass *pass, const Saved *s,\n                         const char *const *source, const char *const *input)"],
["function", "13-looking.html#columns", "columns", "chapter 13", "The columns of a text in a terminal. A combining mark takes none, and an East Asian character two, as most emoji do. (Rarer ranges may shift a picture.)", "int columns(const char *s)"],
["function", "13-looking.html#last_characters", "last_characters", "chapter 13", "The last n characters of a text; NULL if it has fewer. (A byte with the bits 10xxxxxx does not begin a character, see chapter 14.)", "const char *last_characters(const char *s, int n)"],
["function", "13-looking.html#draw_attention", "draw_attention", "chapter 13", "Draws weights (T,S), with T names for the rows and S for the columns. A cell is two columns wide and has one of ten shades, for weights below 0.1, 0.2 …", "void draw_attention(FILE *file, Mat weights, const char *const *row_name,\n                    const char *const *col_name)"],
["function", "13-looking.html#draw_cross_attention", "draw_cross_attention", "chapter 13", "Draws cross-attention, layer by layer, as the mean of its heads; pass and s are those of look(). A row is named by the token written there.", "void draw_cross_attention(FILE *file, Pass *pass, const Saved *s,\n                          const char *const *written,\n                          const char *const *source)"],
["constant", "13-looking.html#COMPONENTS", "COMPONENTS", "chapter 13", "", "enum { COMPONENTS = 7 };"],
["table", "13-looking.html#component_name", "component_name", "chapter 13", "", "const char *const component_name[COMPONENTS] = {\n    \"embedding\", \"positions\", \"attention\", \"cross-attention\", \"feed-forward\",\n    \"norms\", \"output layer\"};"],
["function", "13-looking.html#component_of", "component_of", "chapter 13", "The component that a tensor belongs to: the last whose word its name contains (\"cross_attention_norm\" contains three), else the output layer.", "int component_of(const char *name)"],
["function", "13-looking.html#in_encoder", "in_encoder", "chapter 13", "Whether a tensor is on the encoder's side; the output layer is on the other.", "bool in_encoder(const char *name)"],
["function", "13-looking.html#with_commas", "with_commas", "chapter 13", "24034304 as \"24,034,304\"; to needs 32 bytes.", "const char *with_commas(char *to, size_t n)"],
["function", "13-looking.html#print_parameters", "print_parameters", "chapter 13", "Prints how many parameters each component has, and its share of its side.", "void print_parameters(FILE *file, const TensorList *l)"],
["function", "13-looking.html#saved_bytes", "saved_bytes", "chapter 13", "Bytes of the arena that the forward pass fills for B sentences of S and T tokens, without the smallest terms; the tests find it right to within 3 %.", "double saved_bytes(const Config *c, double B, double S, double T)"],
["macro", "fast.html#TRANSFORMER_POSIX", "TRANSFORMER_POSIX", "the interlude", "", "#define TRANSFORMER_POSIX 1"],
["function", "fast.html#is_control", "is_control", "the interlude", "Whether a control character begins here: what is below the space, DEL (7f), and U+0080 to U+009F, which are two bytes each.", "bool is_control(const char *text)"],
["function", "fast.html#printable", "printable", "the interlude", "One line on the standard error stream, and status 1.", "char *printable(char *text)"],
["function", "fast.html#complain", "complain", "the interlude", "Prints \"transformer: \" and the formatted reason.", "void complain(const char *format, va_list arguments)"],
["function", "fast.html#fail", "fail", "the interlude", "One line on the standard error stream, and status 1.", "_Noreturn void fail(const char *format, ...)"],
["function", "fast.html#check_shape", "check_shape", "the interlude", "Ends the program unless m has that many rows and columns.", "void check_shape(const char *function, const char *name, Mat m, int rows,\n                 int cols)"],
["function", "fast.html#checked_product", "checked_product", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "size_t checked_product(size_t a, size_t b)"],
["function", "fast.html#allocate", "allocate", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "void *allocate(size_t count, size_t size)"],
["function", "fast.html#reallocate", "reallocate", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "void *reallocate(void *memory, size_t count, size_t size)"],
["function", "fast.html#size_of", "size_of", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "double size_of(Mat m)"],
["function", "fast.html#min_int", "min_int", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "int min_int(int a, int b)"],
["function", "fast.html#max_int", "max_int", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "int max_int(int a, int b)"],
["function", "fast.html#fill", "fill", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "void fill(Mat m, real value)"],
["function", "fast.html#copy", "copy", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "void copy(Mat to, Mat from)"],
["function", "fast.html#add", "add", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "void add(Mat to, Mat from)"],
["function", "fast.html#scale_by", "scale_by", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "void scale_by(Mat x, real factor)"],
["function", "fast.html#clear", "clear", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "void clear(real *x, size_t n)"],
["constant", "fast.html#PARTIAL_SUMS", "PARTIAL_SUMS", "the interlude", "", "enum { PARTIAL_SUMS = 16 };"],
["macro", "fast.html#RETURN_SUM", "RETURN_SUM", "the interlude", "", "#define RETURN_SUM(term) \\"],
["function", "fast.html#sum", "sum", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "real sum(const real *x, int n)"],
["function", "fast.html#dot", "dot", "the interlude", "Zeroed memory; the same memory, enlarged. Never NULL: they fail instead.", "real dot(const real *x, const real *y, int n)"],
["function", "fast.html#sum_exponentials", "sum_exponentials", "the interlude", "Σⱼ e^(x[j] - shift), n numbers", "real sum_exponentials(const real *x, real shift, int n)"],
["type", "fast.html#Block", "Block", "the interlude", "", "typedef struct Block {\n    struct Block *below;\n    size_t offset;   // bytes of the arena that were in use below this block\n    size_t size;     // bytes in this block\n    char *memory;\n} Block;"],
["constant", "fast.html#LEAST_BLOCK", "LEAST_BLOCK", "the interlude", "", "enum { LEAST_BLOCK = 0, ALIGNMENT = 1 };"],
["constant", "fast.html#ALIGNMENT", "ALIGNMENT", "the interlude", "", "enum { LEAST_BLOCK = 0, ALIGNMENT = 1 };"],
["function", "fast.html#arena_push", "arena_push", "the interlude", "Puts a block with room for size bytes on top.", "void arena_push(Arena *arena, size_t size)"],
["function", "fast.html#arena_pop", "arena_pop", "the interlude", "Takes the top block away.", "void arena_pop(Arena *arena)"],
["function", "fast.html#arena_take", "arena_take", "the interlude", "    step begins   used │\n    forward       used ├──── q k v ── weights ── context ── … ── logits ──┤\n    backward      used ├──── all of the above ───── scratch of one layer ─┤\n    step ends     used │                            (one layer at a time)", "void *arena_take(Arena *arena, size_t count, size_t size)"],
["function", "fast.html#arena_mat", "arena_mat", "the interlude", "    step begins   used │\n    forward       used ├──── q k v ── weights ── context ── … ── logits ──┤\n    backward      used ├──── all of the above ───── scratch of one layer ─┤\n    step ends     used │                            (one layer at a time)", "Mat arena_mat(Arena *arena, int rows, int cols)"],
["function", "fast.html#arena_zeros", "arena_zeros", "the interlude", "    step begins   used │\n    forward       used ├──── q k v ── weights ── context ── … ── logits ──┤\n    backward      used ├──── all of the above ───── scratch of one layer ─┤\n    step ends     used │                            (one layer at a time)", "Mat arena_zeros(Arena *arena, int rows, int cols)"],
["function", "fast.html#arena_release", "arena_release", "the interlude", "    step begins   used │\n    forward       used ├──── q k v ── weights ── context ── … ── logits ──┤\n    backward      used ├──── all of the above ───── scratch of one layer ─┤\n    step ends     used │                            (one layer at a time)", "void arena_release(Arena *arena, size_t mark)"],
["function", "fast.html#arena_free", "arena_free", "the interlude", "    step begins   used │\n    forward       used ├──── q k v ── weights ── context ── … ── logits ──┤\n    backward      used ├──── all of the above ───── scratch of one layer ─┤\n    step ends     used │                            (one layer at a time)", "void arena_free(Arena *arena)"],
["function", "fast.html#scramble", "scramble", "the interlude", "All random numbers follow from the seed and from what they are for, such as \"the noise of step 17\" or \"the order of epoch 3\". A *key* is computed from these two, and it alone determines the numbers. (It has nothing to do with the keys of attention.) So no generator's state has to be saved.", "uint64_t scramble(uint64_t x)"],
["function", "fast.html#random_key", "random_key", "the interlude", "All random numbers follow from the seed and from what they are for, such as \"the noise of step 17\" or \"the order of epoch 3\". A *key* is computed from these two, and it alone determines the numbers. (It has nothing to do with the keys of attention.) So no generator's state has to be saved.", "uint64_t random_key(uint64_t seed, uint64_t what_for, uint64_t which)"],
["function", "fast.html#uniform", "uniform", "the interlude", "All random numbers follow from the seed and from what they are for, such as \"the noise of step 17\" or \"the order of epoch 3\". A *key* is computed from these two, and it alone determines the numbers. (It has nothing to do with the keys of attention.) So no generator's state has to be saved.", "double uniform(uint64_t *state)"],
["function", "fast.html#scramble32", "scramble32", "the interlude", "All random numbers follow from the seed and from what they are for, such as \"the noise of step 17\" or \"the order of epoch 3\". A *key* is computed from these two, and it alone determines the numbers. (It has nothing to do with the keys of attention.) So no generator's state has to be saved.", "uint32_t scramble32(uint32_t x)"],
["function", "fast.html#beside", "beside", "the interlude", "PATH.new, in memory that the next call uses again.", "const char *beside(const char *path)"],
["function", "fast.html#begin_file", "begin_file", "the interlude", "Opens PATH.new for writing, or fails with the reason.", "FILE *begin_file(const char *path)"],
["function", "fast.html#end_file", "end_file", "the interlude", "Completes and renames the file. If a step of this goes wrong, or a write went wrong before, the rest is left out and PATH.new is removed; the program fails, and says the first reason.", "void end_file(FILE *file, const char *path)"],
["function", "fast.html#now", "now", "the interlude", "Time in seconds from an arbitrary start; where there is POSIX, by a clock that is never set back.", "double now(void)"],
["function", "fast.html#let_threads_sleep", "let_threads_sleep", "the interlude", "Begins the program with these arguments once more, unless that has been done. If it cannot be done, the program works as well, but makes others wait.", "void let_threads_sleep(char **argv)"],
["function", "fast.html#is_terminal", "is_terminal", "the interlude", "Whether the file is a terminal. Without POSIX the answer is no, to be on the safe side.", "bool is_terminal(FILE *file)"],
["macro", "fast.html#WIDER", "WIDER", "the interlude", "", "#define WIDER (FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16)"],
["constant", "fast.html#VECTOR_BYTES", "VECTOR_BYTES", "the interlude", "", "enum { VECTOR_BYTES = 64, TILE_ROWS = 12 };"],
["constant", "fast.html#TILE_ROWS", "TILE_ROWS", "the interlude", "", "enum { VECTOR_BYTES = 64, TILE_ROWS = 12 };"],
["type", "fast.html#Vector", "Vector", "the interlude", "", "typedef real Vector __attribute__((vector_size(VECTOR_BYTES), may_alias,"],
["macro", "fast.html#ALWAYS_INLINE", "ALWAYS_INLINE", "the interlude", "", "#define ALWAYS_INLINE static inline __attribute__((always_inline))"],
["macro", "fast.html#PREFETCH", "PREFETCH", "the interlude", "", "#define PREFETCH(place) __builtin_prefetch((place), 1) // it will be written"],
["macro", "fast.html#UNROLL", "UNROLL", "the interlude", "", "#define UNROLL _Pragma(\"clang loop unroll(full)\")"],
["macro", "fast.html#CACHE_LINE", "CACHE_LINE", "the interlude", "", "#define CACHE_LINE _Alignas(64) // numbers that are read together begin here"],
["constant", "fast.html#LANES", "LANES", "the interlude", "", "enum {\n    LANES = VECTOR_BYTES / (int)sizeof(real), // numbers in a vector\n    TILE_COLS = 2 * LANES,                    // a tile is two vectors wide\n    DEPTH = 256,                              // p runs in blocks of this many\n};"],
["constant", "fast.html#TILE_COLS", "TILE_COLS", "the interlude", "", "enum {\n    LANES = VECTOR_BYTES / (int)sizeof(real), // numbers in a vector\n    TILE_COLS = 2 * LANES,                    // a tile is two vectors wide\n    DEPTH = 256,                              // p runs in blocks of this many\n};"],
["constant", "fast.html#DEPTH", "DEPTH", "the interlude", "", "enum {\n    LANES = VECTOR_BYTES / (int)sizeof(real), // numbers in a vector\n    TILE_COLS = 2 * LANES,                    // a tile is two vectors wide\n    DEPTH = 256,                              // p runs in blocks of this many\n};"],
["function", "fast.html#tile", "tile", "the interlude", "One tile: c = from + a b, so c += a b if from is c. a may be any view (its numbers are read one at a time); the numbers of a row of b, of c and of from lie side by side. The second vector of a row ends where the row ends: in a row of 12 numbers and with vectors of 8, the two are numbers 0-7 and 4-11, and 4-7 are computed twice, to the same result. rows and vectors are constants in every call, so the compiler unrolls the loops and keeps left and right in registers. The addresses of the rows of a must fit there too: every fourth row has a pointer, and the three after it are reached from there.", "ALWAYS_INLINE void tile(int rows, int vectors, Mat c, Mat from, Mat a, Mat b)"],
["function", "fast.html#tile_of_rows", "tile_of_rows", "the interlude", "One tile of c.rows rows. At the bottom of c, fewer may be left than a tile has; each number of rows gets a copy of the code above, with its constant.", "ALWAYS_INLINE void tile_of_rows(int vectors, Mat c, Mat from, Mat a, Mat b)"],
["function", "fast.html#any_tile", "any_tile", "the interlude", "On the right, fewer columns may be left than a vector has; then the tile computes a b by itself, in a buffer, and the columns that exist are added. (The same is done for any c whose columns are not side by side.)", "void any_tile(Mat c, Mat from, Mat a, Mat b)"],
["function", "fast.html#pack_cols", "pack_cols", "the interlude", "Copies all columns of b, at most width, side by side for each row, with zeros for those that a vector lacks. width is a constant in every call: copying a number of bytes that the compiler knows takes a few instructions.", "ALWAYS_INLINE void pack_cols(int width, real *packed, Mat b)"],
["function", "fast.html#column_of_tiles", "column_of_tiles", "the interlude", "c = from + a b for one column of tiles: c has at most TILE_COLS columns, a at most DEPTH. The packed columns of b (32 KB with AVX-512) stay in the nearest cache while the tiles run down the rows of a.", "void column_of_tiles(Mat c, Mat from, Mat a, Mat b)"],
["function", "fast.html#small_matmul_from", "small_matmul_from", "the interlude", "c = from + a b on one thread: a small product, or one block of a large one. For only a few tiles, copying b does not pay: if no vector would reach beyond its rows, they are used where they are.", "void small_matmul_from(Mat c, Mat from, Mat a, Mat b)"],
["function", "fast.html#small_matmul_add", "small_matmul_add", "the interlude", "c += a b, and c = a b, on one thread: small products in a loop that is shared", "void small_matmul_add(Mat c, Mat a, Mat b)"],
["function", "fast.html#small_matmul", "small_matmul", "the interlude", "c += a b, and c = a b, on one thread: small products in a loop that is shared", "void small_matmul(Mat c, Mat a, Mat b)"],
["constant", "fast.html#BLOCK", "BLOCK", "the interlude", "", "enum { BLOCK = 1 << 18 }; // numbers of a in a block: about a megabyte"],
["function", "fast.html#matmul_from", "matmul_from", "the interlude", "c += a b, and c = from + a b, where from has c's shape, or is one row, repeated (row_stride 0); the threads share the work", "void matmul_from(Mat c, Mat from, Mat a, Mat b)"],
["function", "fast.html#matmul_add", "matmul_add", "the interlude", "c += a b, and c = from + a b, where from has c's shape, or is one row, repeated (row_stride 0); the threads share the work", "void matmul_add(Mat c, Mat a, Mat b)"],
["function", "fast.html#exponential", "exponential", "the interlude", "eˣ, accurate to 2 or 3 parts in 10⁷ in single precision, and fast: with the C library's expf, softmax would spend most of its time there. See the interlude.", "real exponential(real x)"],
["function", "fast.html#check_arithmetic", "check_arithmetic", "the interlude", "Fails if the compiler was told to reorder sums: the rounding above is then optimized away, and everything that is computed is wrong.", "void check_arithmetic(void)"],
["function", "14-text.html#utf8_number", "utf8_number", "chapter 14", "What chapter 14 says of the character at s, in UTF-8.", "int utf8_number(const char *s)"],
["function", "14-text.html#utf8_length", "utf8_length", "chapter 14", "What chapter 14 says of the character at s, in UTF-8.", "int utf8_length(const char *s)"],
["function", "14-text.html#valid_utf8", "valid_utf8", "chapter 14", "Whether the whole string is valid. All functions below rely on it.", "bool valid_utf8(const char *s)"],
["function", "14-text.html#lower_letter", "lower_letter", "chapter 14", "The small letter of a capital; any other character stays.", "int lower_letter(int c)"],
["function", "14-text.html#lower_case", "lower_case", "chapter 14", "Converts to lower case, in place.", "void lower_case(char *s)"],
["constant", "14-text.html#WORDS", "WORDS", "chapter 14", "", "enum { WORDS, CHARACTERS, BYTE_PAIRS, TOKENIZERS };"],
["constant", "14-text.html#CHARACTERS", "CHARACTERS", "chapter 14", "", "enum { WORDS, CHARACTERS, BYTE_PAIRS, TOKENIZERS };"],
["constant", "14-text.html#BYTE_PAIRS", "BYTE_PAIRS", "chapter 14", "", "enum { WORDS, CHARACTERS, BYTE_PAIRS, TOKENIZERS };"],
["constant", "14-text.html#TOKENIZERS", "TOKENIZERS", "chapter 14", "", "enum { WORDS, CHARACTERS, BYTE_PAIRS, TOKENIZERS };"],
["type", "14-text.html#Tokenizer", "Tokenizer", "chapter 14", "", "typedef struct {\n    int tokens; // WORDS, CHARACTERS or BYTE_PAIRS\n    int lowercase;\n} Tokenizer;"],
["function", "14-text.html#is_space", "is_space", "chapter 14", "Whether the character at s is white space: a blank, a control character, blanks and line ends of typesetting, no-break spaces, or Chinese's wide one.", "bool is_space(const char *s)"],
["function", "14-text.html#is_mark", "is_mark", "chapter 14", "Whether a punctuation mark begins at s: a token by itself.", "bool is_mark(const char *s)"],
["function", "14-text.html#skip_spaces", "skip_spaces", "chapter 14", "The first place at or after s that is not white space.", "const char *skip_spaces(const char *s)"],
["function", "14-text.html#next_token", "next_token", "chapter 14", "The next token of *text, of *length bytes, or NULL at the end; *text is moved past it. If tokens are characters, any white space becomes \" \". For byte pairs it returns whole words, which are split into pieces later.", "const char *next_token(const char **text, Tokenizer tokenizer, int *length)"],
["type", "14-text.html#Token", "Token", "chapter 14", "", "typedef struct {\n    const char *text;\n    size_t length;\n    int id;\n} Token;"],
["type", "14-text.html#Vocab", "Vocab", "chapter 14", "", "typedef struct {\n    char **token; // V strings\n    int count;    // V\n    Token *index; // V - FIRST_TOKEN, by their bytes: all but the special ones\n} Vocab;"],
["function", "14-text.html#vocab_free", "vocab_free", "chapter 14", "A token: its bytes (no zero byte need follow), how many, and its number.", "void vocab_free(Vocab *v)"],
["function", "14-text.html#compare_tokens", "compare_tokens", "chapter 14", "The order for qsort and bsearch: by bytes.", "int compare_tokens(const void *left, const void *right)"],
["function", "14-text.html#vocab_sort", "vocab_sort", "chapter 14", "Makes the index of a vocabulary that is complete.", "void vocab_sort(Vocab *v)"],
["function", "14-text.html#token_id", "token_id", "chapter 14", "The number of the token of length bytes at text, or UNKNOWN. Special tokens are not looked up: \"<end>\" in a text is a word like any other.", "int token_id(const Vocab *v, const char *text, int length)"],
["function", "14-text.html#vocab_append", "vocab_append", "chapter 14", "Appends a copy of the token. The memory doubles whenever the count is a power of two.", "void vocab_append(Vocab *v, const char *token, int length)"],
["function", "14-text.html#vocab_new", "vocab_new", "chapter 14", "A vocabulary with only the special tokens.", "Vocab vocab_new(void)"],
["function", "14-text.html#vocab_build", "vocab_build", "chapter 14", "How often does each token occur? Sort the list of all tokens of the texts: equal ones then lie side by side, and one occurs at least min_count times if it is still there min_count - 1 places further on.\n\n    ,  a  a  b  b  c        with min_count 2: a and b\n       └──┘  └──┘\n\nA vocabulary of all tokens that occur at least min_count times in the texts.", "Vocab vocab_build(char *const *text, int texts, Tokenizer tokenizer,\n                  int min_count)"],
["function", "14-text.html#spell", "spell", "chapter 14", "A word of length bytes -> the numbers of its pieces, and how many. In text, with its blank, the piece that begins at i ends at end[i], where the next one begins, and pair[i] is what the two make (0: not looked up).", "int spell(int *id, const char *word, int length, const Vocab *v)"],
["function", "14-text.html#tokenize", "tokenize", "chapter 14", "text -> its tokens and END, at most two for each byte, since byte pairs add a blank to each word. The caller frees the ids.", "Sentence tokenize(const char *text, const Vocab *v, Tokenizer tokenizer)"],
["function", "14-text.html#join_tokens", "join_tokens", "chapter 14", "length tokens, or only those before END -> text, which the caller frees: words joined by single spaces, other tokens by nothing. With byte pairs, the blank at the very beginning is left out. UNKNOWN becomes the text unknown.", "char *join_tokens(const int *id, int length, const Vocab *v,\n                  Tokenizer tokenizer, const char *unknown)"],
["function", "14-text.html#detokenize", "detokenize", "chapter 14", "The same, as it is shown: UNKNOWN becomes <unknown>.", "char *detokenize(const int *id, int length, const Vocab *v,\n                 Tokenizer tokenizer)"],
["function", "14-text.html#tokens_of", "tokens_of", "chapter 14", "The tokens of n ids, as texts in the vocabulary.", "const char **tokens_of(Arena *arena, const Vocab *v, const int *id, int n)"],
["function", "14-text.html#spell_words", "spell_words", "chapter 14", "The different words of the texts, spelled. (*times)[i] is how often the word occurs to which piece i belongs, and *v becomes the alphabet: the characters, and the blank.", "Sentence spell_words(char *const *text, int texts, Vocab *v, int **times)"],
["type", "14-text.html#Merge", "Merge", "chapter 14", "", "typedef struct {\n    int left, right;\n    int64_t count;\n} Merge;"],
["function", "14-text.html#is_better", "is_better", "chapter 14", "Whether to join pair a rather than b: because it occurs more often. If both occur as often, the bytes of the left pieces decide, and then those of the right ones.", "bool is_better(Merge a, Merge b, const Vocab *v)"],
["function", "14-text.html#most_frequent", "most_frequent", "chapter 14", "The pair to be joined next. For each left piece a chain (ended by 0) runs through all places behind it, and along it right neighbors are counted.", "Merge most_frequent(Sentence s, const int *times, const Vocab *v)"],
["function", "14-text.html#join_everywhere", "join_everywhere", "chapter 14", "Joins a pair into piece wherever it occurs, from left to right.", "void join_everywhere(Sentence *s, int *times, Merge m, int piece)"],
["function", "14-text.html#learn_merges", "learn_merges", "chapter 14", "A vocabulary of the characters of the texts, the blank, and the pieces made by at most merges merges.", "Vocab learn_merges(char *const *text, int texts, int merges)"],
["type", "14-text.html#Text", "Text", "chapter 14", "", "typedef struct {\n    char *contents;          // the file, cut into strings\n    char **source, **target; // `count` of each, pointers into it\n    int count;\n} Text;"],
["function", "14-text.html#text_free", "text_free", "chapter 14", "The whole file is read, and a zero byte in place of each tab and line end turns it into strings.", "void text_free(Text *t)"],
["function", "14-text.html#read_file", "read_file", "chapter 14", "The whole of a file, or of a pipe, followed by a zero byte, which *size does not count. Nothing is read after a zero byte, which no text has.", "char *read_file(const char *path, size_t *size)"],
["function", "14-text.html#cut_at", "cut_at", "chapter 14", "Puts a zero byte in place of the first sign -> what follows, or NULL", "char *cut_at(char *text, char sign)"],
["function", "14-text.html#skip_order_mark", "skip_order_mark", "chapter 14", "What follows a byte order mark, if there is one at the beginning.", "char *skip_order_mark(char *text)"],
["constant", "14-text.html#LONGEST_LINE", "LONGEST_LINE", "chapter 14", "", "enum { LONGEST_LINE = 1 << 20 }; // bytes: no sentence is longer"],
["function", "14-text.html#add_line", "add_line", "chapter 14", "Appends the first two columns of a line to the text -> NULL, or what is wrong", "const char *add_line(Text *t, char *line, Tokenizer tokenizer)"],
["function", "14-text.html#read_pairs", "read_pairs", "chapter 14", "A file of pairs, in lower case if the tokenizer says so. Fails with file name, line and reason if it is anything else.", "Text read_pairs(const char *path, Tokenizer tokenizer)"],
["function", "14-text.html#tokenize_pairs", "tokenize_pairs", "chapter 14", "text -> numbers, but no pair with more than max_len tokens on either side", "Pairs tokenize_pairs(const Text *text, const Vocab *source, const Vocab *target,\n                     Tokenizer tokenizer, int max_len)"],
["function", "14-text.html#add_translation", "add_translation", "chapter 14", "Adds one translation and its reference, given in the tokens of a model.", "void add_translation(Match *m, Sentence s, Sentence reference, const Vocab *v,\n                     Tokenizer tokenizer)"],
["constant", "15-saving.html#MOST_OPTIONS", "MOST_OPTIONS", "chapter 15", "", "enum { MOST_OPTIONS = 48 };"],
["type", "15-saving.html#Settings", "Settings", "chapter 15", "", "typedef struct {\n    const char *text[MOST_OPTIONS]; // as in the table below; NULL: not given\n    Config config;       // the model\n    Tokenizer tokenizer; // how text is cut\n    Recipe recipe;       // how the model is trained\n    int beam, min_count, merges, threads, vocab;\n    const char *model, *from, *valid, *log, *target, *csv; // target is no path\n    int resume, help;\n} Settings;"],
["constant", "15-saving.html#INTEGER", "INTEGER", "chapter 15", "", "enum { INTEGER, NUMBER, CHOICE, FLAG, STRING };                  // Option.type"],
["constant", "15-saving.html#NUMBER", "NUMBER", "chapter 15", "", "enum { INTEGER, NUMBER, CHOICE, FLAG, STRING };                  // Option.type"],
["constant", "15-saving.html#CHOICE", "CHOICE", "chapter 15", "", "enum { INTEGER, NUMBER, CHOICE, FLAG, STRING };                  // Option.type"],
["constant", "15-saving.html#FLAG", "FLAG", "chapter 15", "", "enum { INTEGER, NUMBER, CHOICE, FLAG, STRING };                  // Option.type"],
["constant", "15-saving.html#STRING", "STRING", "chapter 15", "", "enum { INTEGER, NUMBER, CHOICE, FLAG, STRING };                  // Option.type"],
["constant", "15-saving.html#TRAIN", "TRAIN", "chapter 15", "", "enum { TRAIN = 1, TRANSLATE = 2, EVALUATE = 4, ATTENTION = 8, INFO = 16,\n       USING = TRANSLATE | EVALUATE | ATTENTION };           // Option.commands"],
["constant", "15-saving.html#TRANSLATE", "TRANSLATE", "chapter 15", "", "enum { TRAIN = 1, TRANSLATE = 2, EVALUATE = 4, ATTENTION = 8, INFO = 16,\n       USING = TRANSLATE | EVALUATE | ATTENTION };           // Option.commands"],
["constant", "15-saving.html#EVALUATE", "EVALUATE", "chapter 15", "", "enum { TRAIN = 1, TRANSLATE = 2, EVALUATE = 4, ATTENTION = 8, INFO = 16,\n       USING = TRANSLATE | EVALUATE | ATTENTION };           // Option.commands"],
["constant", "15-saving.html#ATTENTION", "ATTENTION", "chapter 15", "", "enum { TRAIN = 1, TRANSLATE = 2, EVALUATE = 4, ATTENTION = 8, INFO = 16,\n       USING = TRANSLATE | EVALUATE | ATTENTION };           // Option.commands"],
["constant", "15-saving.html#INFO", "INFO", "chapter 15", "", "enum { TRAIN = 1, TRANSLATE = 2, EVALUATE = 4, ATTENTION = 8, INFO = 16,\n       USING = TRANSLATE | EVALUATE | ATTENTION };           // Option.commands"],
["constant", "15-saving.html#USING", "USING", "chapter 15", "", "enum { TRAIN = 1, TRANSLATE = 2, EVALUATE = 4, ATTENTION = 8, INFO = 16,\n       USING = TRANSLATE | EVALUATE | ATTENTION };           // Option.commands"],
["constant", "15-saving.html#MODEL", "MODEL", "chapter 15", "", "enum { MODEL = 1, RUN = 2 };                                 // Option.in_model"],
["constant", "15-saving.html#RUN", "RUN", "chapter 15", "", "enum { MODEL = 1, RUN = 2 };                                 // Option.in_model"],
["type", "15-saving.html#Option", "Option", "chapter 15", "", "typedef struct {\n    const char *name;    // as on the command line, without --\n    int type;\n    size_t offset;       // of its field in Settings\n    const char *choices; // separated by |; else what the help calls the value\n    const char *initial; // the default; NULL: zero, or from other options\n    int commands;        // that take it\n    int in_model;        // MODEL or RUN: kept in the model's file; 0: not kept\n    const char *help;\n    double least, most;  // what a number may be, both included\n} Option;"],
["macro", "15-saving.html#SETTING", "SETTING", "chapter 15", "", "#define SETTING(field) offsetof(Settings, field)"],
["table", "15-saving.html#options", "options", "chapter 15", "", "const Option options[] = {\n    {\"layers\", INTEGER, SETTING(config.layers), \"N\", \"2\", TRAIN | INFO, MODEL,\n     \"layers of the encoder, and of the decoder\", 1, 100},\n    {\"d-model\", INTEGER, SETTING(config.d_model), \"N\", \"64\", TRAIN | INFO,\n     MODEL, \"width of the vector that stands for a token\", 1, 65536},\n    {\"heads\", INTEGER, SETTING(config.heads), \"N\", \"4\", TRAIN | INFO, MODEL,\n     \"attention heads; must divide d-model\", 1, 1024},\n    {\"d-ff\", INTEGER, SETTING(config.d_ff), \"N\", NULL, TRAIN | INFO, MODEL,\n     \"inner width of the feed-forward network (4 d-model)\", 1, 262144},\n    {\"dropout\", NUMBER, SETTING(config.dropout), \"P\", \"0.1\", TRAIN | INFO, RUN,\n     \"share of embeddings and sub-layer outputs dropped\", 0, 0.99},\n    {\"attention-dropout\", NUMBER, SETTING(config.attention_dropout), \"P\", NULL,\n     TRAIN | INFO, RUN, \"of attention weights (as --dropout)\", 0, 0.99},\n    {\"activation-dropout\", NUMBER, SETTING(config.activation_dropout), \"P\",\n     NULL, TRAIN | INFO, RUN, \"of the inner layer (as --dropout)\", 0, 0.99},\n    {\"norm\", CHOICE, SETTING(config.norm), \"post|pre\", \"post\", TRAIN | INFO,\n…"],
["constant", "15-saving.html#OPTIONS", "OPTIONS", "chapter 15", "", "enum { OPTIONS = sizeof options / sizeof *options };"],
["function", "15-saving.html#read_number", "read_number", "chapter 15", "Reads a number from least to most into *to. Returns false if the text is anything else; *to is then meaningless.", "bool read_number(double *to, const char *text, double least, double most)"],
["function", "15-saving.html#read_whole", "read_whole", "chapter 15", "The whole number that the text gives, if it is from least to most; else -1. Digits only: no sign, no point, no exponent.", "int64_t read_whole(const char *text, double least, double most)"],
["function", "15-saving.html#find_choice", "find_choice", "chapter 15", "Which of the choices \"a|b|c\" the text is, from 0; -1 if it is none.", "int find_choice(const char *choices, const char *text)"],
["function", "15-saving.html#fits_name", "fits_name", "chapter 15", "Whether a text may be the value of a STRING called \"FILE.csv\" or the like.", "bool fits_name(const char *choices, const char *text)"],
["function", "15-saving.html#set_option", "set_option", "chapter 15", "Puts the value of option o into the settings. Returns false if the text is not allowed. For a STRING the pointer is kept, not a copy of the text.", "bool set_option(Settings *s, const Option *o, const char *text)"],
["function", "15-saving.html#option_place", "option_place", "chapter 15", "The place in the table of the option of that name, length bytes long; -1 if there is none.", "int option_place(const char *name, size_t length)"],
["function", "15-saving.html#given", "given", "chapter 15", "The text that was given for an option; NULL if none was.", "const char *given(const Settings *s, const char *name)"],
["function", "15-saving.html#bind_settings", "bind_settings", "chapter 15", "Makes numbers of the texts, and derives what was not given:\n\n    d_model 64, warmup 400    →    d_ff 256, rate 1/√25600 = 0.00625\n    dropout 0.1               →    attention and activation dropout 0.1\n\nThe rate is the paper's formula (D · t)^(-1/2) at step w. Returns NULL, or the first option whose text is not allowed.", "const Option *bind_settings(Settings *s)"],
["function", "15-saving.html#wrong_config", "wrong_config", "chapter 15", "What is wrong with a configuration that the table allows; NULL if nothing is.", "const char *wrong_config(const Config *c)"],
["type", "15-saving.html#Checkpoint", "Checkpoint", "chapter 15", "", "typedef struct {\n    Settings settings;\n    Vocab source, target;\n    Trainer trainer;   // to use the model, .model is enough: the rest is zero\n    char *texts;       // those of the settings, if they come from a file\n} Checkpoint;"],
["function", "15-saving.html#checkpoint_free", "checkpoint_free", "chapter 15", "Frees all that a checkpoint holds, whether loaded or new.", "void checkpoint_free(Checkpoint *c)"],
["macro", "15-saving.html#FORMAT", "FORMAT", "chapter 15", "", "#define FORMAT \"transformer.c 1\""],
["constant", "15-saving.html#PARAMETERS", "PARAMETERS", "chapter 15", "", "enum { PARAMETERS, FIRST_MOMENT, SECOND_MOMENT, NEWEST, ROLES };"],
["constant", "15-saving.html#FIRST_MOMENT", "FIRST_MOMENT", "chapter 15", "", "enum { PARAMETERS, FIRST_MOMENT, SECOND_MOMENT, NEWEST, ROLES };"],
["constant", "15-saving.html#SECOND_MOMENT", "SECOND_MOMENT", "chapter 15", "", "enum { PARAMETERS, FIRST_MOMENT, SECOND_MOMENT, NEWEST, ROLES };"],
["constant", "15-saving.html#NEWEST", "NEWEST", "chapter 15", "", "enum { PARAMETERS, FIRST_MOMENT, SECOND_MOMENT, NEWEST, ROLES };"],
["constant", "15-saving.html#ROLES", "ROLES", "chapter 15", "", "enum { PARAMETERS, FIRST_MOMENT, SECOND_MOMENT, NEWEST, ROLES };"],
["function", "15-saving.html#float_bits", "float_bits", "chapter 15", "The bits of a number as the file has it.", "uint32_t float_bits(real x)"],
["function", "15-saving.html#write_integer", "write_integer", "chapter 15", "The count lowest bytes of a number, lowest first; end_file finds errors", "void write_integer(FILE *file, uint64_t value, int count)"],
["function", "15-saving.html#read_integer", "read_integer", "chapter 15", "The number that these bytes are.", "uint64_t read_integer(const char *from, int count)"],
["function", "15-saving.html#metadata_name", "metadata_name", "chapter 15", "The name under which an option is kept: d-model becomes d_model. Returns to, with room for 32 bytes.", "const char *metadata_name(char to[32], const Option *o)"],
["function", "15-saving.html#bytes_of", "bytes_of", "chapter 15", "How many bytes a tensor takes in the file.", "size_t bytes_of(const Tensor *t)"],
["function", "15-saving.html#entry_of", "entry_of", "chapter 15", "The entry of a tensor whose numbers begin at that place. A matrix has two dimensions there, a bias or a gain has one. Returns to.", "const char *entry_of(char to[160], const Tensor *t, size_t begin)"],
["function", "15-saving.html#checksum", "checksum", "chapter 15", "A *checksum* makes one number of all parameters, as the file has them (FNV-1a; Fowler, Noll and Vo): sixteen digits are the same if all bits are.", "uint64_t checksum(const Trainer *t)"],
["function", "15-saving.html#write_vocab", "write_vocab", "chapter 15", "One vocabulary: its tokens joined by newlines. Tokens contain no control characters (chapter 14), so only two characters have to be escaped.", "void write_vocab(FILE *file, const char *key, const Vocab *v)"],
["function", "15-saving.html#write_metadata", "write_metadata", "chapter 15", "Everything that is not a tensor.", "void write_metadata(FILE *file, const Checkpoint *c)"],
["function", "15-saving.html#check_numbers", "check_numbers", "chapter 15", "Fails if a number is not finite: such a model is of no use, and must not replace a good one.", "void check_numbers(const real *x, size_t count, const char *path)"],
["function", "15-saving.html#save_checkpoint", "save_checkpoint", "chapter 15", "Saves a checkpoint, with the moments if it has them, and replaces what was there; or fails and leaves that as it was. Blanks after the header align the numbers for programs that map the file into memory.", "void save_checkpoint(const Checkpoint *c, const char *path)"],
["constant", "15-saving.html#LONGEST_HEADER", "LONGEST_HEADER", "chapter 15", "", "enum { LONGEST_HEADER = 100000000 }; // bytes"],
["macro", "15-saving.html#NO_MODEL", "NO_MODEL", "chapter 15", "", "#define NO_MODEL \"%s: not a model this program can read: \""],
["type", "15-saving.html#Reader", "Reader", "chapter 15", "", "typedef struct {\n    const char *path;\n    FILE *file;\n    size_t size, numbers; // of the file; where in it the numbers begin\n    char *header, *near;  // its text; the name in it that was found last\n    char *texts;          // as long as it, for values of the metadata\n    size_t *begin;        // where in the numbers each tensor's begin, by role\n    int roles;            // how many the file has\n} Reader;"],
["function", "15-saving.html#read_bytes", "read_bytes", "chapter 15", "Reads the next bytes of the file, or fails.", "void read_bytes(const Reader *r, void *to, size_t size)"],
["function", "15-saving.html#open_model", "open_model", "chapter 15", "Opens a file and reads its header, and puts a zero byte after it. The length of the header is checked before memory is taken for it.", "Reader open_model(const char *path)"],
["function", "15-saving.html#close_model", "close_model", "chapter 15", "Stands below open_model, without a contract of its own.", "void close_model(Reader *r)"],
["function", "15-saving.html#find_name", "find_name", "chapter 15", "What follows \"PREFIXname\": in the header; NULL if that is not there. The search begins where the last one ended, since names mostly come in order.", "const char *find_name(Reader *r, const char *prefix, const char *name)"],
["function", "15-saving.html#metadata", "metadata", "chapter 15", "The value of a key of the metadata, its escapes undone. If the file lacks it, the value is NULL or, if it is needed, the file is refused.", "char *metadata(Reader *r, const char *key, bool needed)"],
["function", "15-saving.html#read_vocab", "read_vocab", "chapter 15", "One vocabulary, from tokens joined by newlines: the special ones first, then the others, all different, not empty and without control characters.", "Vocab read_vocab(Reader *r, const char *key)"],
["function", "15-saving.html#set_vocab_sizes", "set_vocab_sizes", "chapter 15", "Puts the sizes of the vocabularies into the configuration.", "void set_vocab_sizes(Checkpoint *c)"],
["function", "15-saving.html#read_settings", "read_settings", "chapter 15", "Everything that is not a tensor. A setting may be missing if the table says what then holds.", "void read_settings(Reader *r, Checkpoint *c)"],
["function", "15-saving.html#read_entry", "read_entry", "chapter 15", "Where the numbers of a tensor begin, counted from the end of the header. Refuses the file unless its entry is what it must be.", "size_t read_entry(Reader *r, const char *prefix, const Tensor *t)"],
["function", "15-saving.html#read_entries", "read_entries", "chapter 15", "The entries of all tensors. Refuses the file unless the tensors fill it: one begins at 0, one where that one ends, and so on to the end.", "void read_entries(Reader *r, const TensorList *l)"],
["function", "15-saving.html#read_role", "read_role", "chapter 15", "The numbers of all tensors in that role, into a block. Their bytes are read into the place of the numbers and replaced by them from the last to the first, since a real may be larger than a float. Infinities and NaN, which training never writes, are refused: a single one would spread through the whole model. So are second moments below zero, whose root is NaN.", "void read_role(const Reader *r, const TensorList *l, int role, real *to)"],
["function", "15-saving.html#load_model", "load_model", "chapter 15", "Reads a model: its parameters or, for training, all that it takes to go on. outline says which tensors it has. Fails, with a reason, on anything else.", "Checkpoint load_model(const char *path, bool training,\n                      Transformer *outline(const Config *))"],
["function", "15-saving.html#load_checkpoint", "load_checkpoint", "chapter 15", "Reads the checkpoint of a transformer, as load_model says.", "Checkpoint load_checkpoint(const char *path, bool training)"],
["type", "16-commands.html#Command", "Command", "chapter 16", "", "typedef struct {\n    const char *name;\n    int bit;              // TRAIN … INFO\n    const char *operands; // for the help\n    int least, most;      // how many of them\n    const char *help;\n} Command;"],
["table", "16-commands.html#commands", "commands", "chapter 16", "", "const Command commands[] = {\n    {\"train\", TRAIN, \"DATA.tsv\", 1, 1,\n     \"learn from pairs of sentences: source, tab, target\"},\n    {\"translate\", TRANSLATE, \"MODEL\", 1, 1,\n     \"one source a line on stdin, one target a line on stdout\"},\n    {\"evaluate\", EVALUATE, \"MODEL DATA.tsv\", 2, 2,\n     \"loss, exact match and BLEU on pairs of sentences\"},\n    {\"attention\", ATTENTION, \"MODEL SENTENCE\", 2, 2,\n     \"show which words the model looks at\"},\n    {\"info\", INFO, \"[MODEL]\", 0, 1,\n     \"configuration and parameters, of a file or of options\"},\n};"],
["constant", "16-commands.html#COMMANDS", "COMMANDS", "chapter 16", "", "enum { COMMANDS = sizeof commands / sizeof *commands };"],
["type", "16-commands.html#Arguments", "Arguments", "chapter 16", "", "typedef struct {\n    const Command *command;\n    const char *operand[2];\n    int operands;\n    Settings settings;\n} Arguments;"],
["function", "16-commands.html#misuse", "misuse", "chapter 16", "fail (chapter 1) reports that a sensible command went wrong; misuse, that the command itself makes no sense: it says so, and exits with status 2.", "_Noreturn void misuse(const Arguments *a, const char *format, ...)"],
["function", "16-commands.html#finish_output", "finish_output", "chapter 16", "Fails if standard output could not be written (to a full disk, say), which would otherwise go unnoticed.", "void finish_output(void)"],
["function", "16-commands.html#print_help", "print_help", "chapter 16", "The text comes from the two tables. Defaults are in brackets.", "void print_help(void)"],
["function", "16-commands.html#print_command_help", "print_command_help", "chapter 16", "A command, and the options that it takes.", "void print_command_help(const Command *c)"],
["function", "16-commands.html#read_option", "read_option", "chapter 16", "Reads the option that argument[0] begins; returns how many further arguments it took. Exits with status 2 if its value is missing or wrong. One that begins with two dashes must be attached (--log=--odd-name).", "int read_option(Arguments *a, char **argument)"],
["function", "16-commands.html#check_settings", "check_settings", "chapter 16", "Exits with status 2 if settings contradict each other, or ask info for what its file has decided. What else a file has is compared when it is loaded.", "void check_settings(const Arguments *a)"],
["function", "16-commands.html#read_words", "read_words", "chapter 16", "Reads what follows the command. \"--\" ends the options, and a sentence may begin with a dash and a blank.", "void read_words(Arguments *a, int count, char **word)"],
["function", "16-commands.html#read_arguments", "read_arguments", "chapter 16", "Reads the whole command line, or exits with status 2. With --help no operand is needed.", "Arguments read_arguments(int argc, char **argv)"],
["function", "16-commands.html#set_threads", "set_threads", "chapter 16", "OpenMP uses all processors unless told otherwise. On a busy machine, try --threads 1.", "void set_threads(const Arguments *a)"],
["macro", "16-commands.html#SIGHUP", "SIGHUP", "chapter 16", "", "#define SIGHUP SIGTERM // where terminals send none"],
["function", "16-commands.html#handle_signals", "handle_signals", "chapter 16", "Gives the three signals to a handler, except those that are ignored.", "void handle_signals(void (*handler)(int))"],
["function", "16-commands.html#remember_signal", "remember_signal", "chapter 16", "Stands below handle_signals, without a contract of its own.", "void remember_signal(int which)"],
["function", "16-commands.html#text_of", "text_of", "chapter 16", "The text of a sentence in one of the model's vocabularies; the caller frees it.", "char *text_of(const Checkpoint *c, const Vocab *v, Sentence s)"],
["function", "16-commands.html#translation_of", "translation_of", "chapter 16", "The model's translation of a sentence; the caller frees its ids.", "Sentence translation_of(Checkpoint *c, Sentence source, int beam)"],
["function", "16-commands.html#number_pairs", "number_pairs", "chapter 16", "A text as pairs in the model's numbers; pairs_free frees them. Says how many are left out, being too long, and how many tokens are unknown. Fails if no pair remains. The text, which came from path, is freed.", "Pairs number_pairs(const char *path, Text text, const Checkpoint *c)"],
["function", "16-commands.html#load_pairs", "load_pairs", "chapter 16", "The pairs of a file. Fails if anything is wrong with it.", "Pairs load_pairs(const char *path, const Checkpoint *c)"],
["type", "16-commands.html#Progress", "Progress", "chapter 16", "", "typedef struct {\n    const Settings *settings;\n    Checkpoint *checkpoint;\n    const Pairs *data, *valid; // valid: NULL if there are none\n    FILE *log;            // NULL: none, or not begun yet\n    int64_t total;        // steps aimed at\n    int64_t first_step;   // done before this run\n    double started, step_started, shown; // times\n    Loss since;           // losses since the last look\n    int looks;            // so far\n    bool line_open;       // the terminal's line is going to be rewritten\n} Progress;"],
["function", "16-commands.html#show_progress", "show_progress", "chapter 16", "The progress line, with the time left. A terminal too narrow for it is told not to wrap it (ESC [?7l, and then ESC [?7h), since only one line can be rewritten. A whole line ends, and is not rewritten.", "void show_progress(Progress *p, const Step *s, bool whole)"],
["function", "16-commands.html#show_samples", "show_samples", "chapter 16", "Translates three sentences greedily and compares them with the references; fewer if a signal arrives.", "void show_samples(const Progress *p)"],
["macro", "16-commands.html#LOG_HEADER", "LOG_HEADER", "chapter 16", "", "#define LOG_HEADER \"step,split,loss,accuracy,learning_rate,gradient_norm,\" \\"],
["function", "16-commands.html#begin_log", "begin_log", "chapter 16", "Begins a new log or, if the run is resumed, goes on with the old one. A last row that a full disk has torn gets an end.", "FILE *begin_log(const Settings *s)"],
["function", "16-commands.html#write_log", "write_log", "chapter 16", "Writes the row or rows of one step. The log begins after the first step: if that step fails, an old log stays as it was.", "void write_log(Progress *p, const Step *s, double seconds, Loss valid)"],
["constant", "16-commands.html#LOOKS", "LOOKS", "chapter 16", "", "enum { LOOKS = 20 };"],
["function", "16-commands.html#time_to_look", "time_to_look", "chapter 16", "Whether to measure and save after this step: twenty times in a run, as evenly as can be; after each step if there are fewer.", "bool time_to_look(int64_t step, int64_t total)"],
["function", "16-commands.html#report_step", "report_step", "chapter 16", "The Reporter of chapter 11. Returns whether to go on.", "bool report_step(void *context, const Step *s)"],
["function", "16-commands.html#new_vocab", "new_vocab", "chapter 16", "The vocabulary of one language, from the training data alone: a word that occurs only in the validation data is unknown, like any new word.", "Vocab new_vocab(const Settings *s, char *const *text, int texts)"],
["function", "16-commands.html#single_words", "single_words", "chapter 16", "How many texts are a single word, apart from marks. If most are, the language may have no blanks, and has to be cut in another way.", "int single_words(char *const *text, int texts)"],
["function", "16-commands.html#new_model", "new_model", "chapter 16", "A new model with the checkpoint's settings: vocabularies from the training data, which come from path, and random parameters. Fails if no words are left.", "void new_model(Checkpoint *c, const char *path, const Text *text)"],
["function", "16-commands.html#same_file", "same_file", "chapter 16", "Whether two paths lead to one file.", "bool same_file(const char *a, const char *b)"],
["function", "16-commands.html#joined_settings", "joined_settings", "chapter 16", "The settings of a run that begins with a checkpoint: --from takes a model as it is, and --resume is the same run, longer. Exits with status 2 if an option asks for something else.", "Settings joined_settings(const Arguments *a, const Settings *file)"],
["function", "16-commands.html#begin_run", "begin_run", "chapter 16", "What a run begins with: nothing yet; a checkpoint to go on with; or the parameters and words of a model, with steps and moments at 0 (*fine-tuning*: what that one has learned need not be learned again).", "Checkpoint begin_run(const Arguments *a)"],
["function", "16-commands.html#announce", "announce", "chapter 16", "Says what a new run will replace; fails if a file there is not a model.", "void announce(const char *path)"],
["function", "16-commands.html#describe", "describe", "chapter 16", "Says in three lines what is about to happen.", "void describe(const Progress *p)"],
["function", "16-commands.html#run_training", "run_training", "chapter 16", "Trains, saves if stopped, and says how it ended. If the numbers are no longer finite, nothing is saved: the last checkpoint is a better state.", "void run_training(Progress *p)"],
["function", "16-commands.html#train_command", "train_command", "chapter 16", "transformer train DATA.tsv\n\nThe data are read once, since they may come through a pipe. A pipe that is no longer read must not end the program: Ctrl-C also ends the tee behind it, while the last step is still to be saved.", "void train_command(const Arguments *a, Checkpoint *c)"],
["function", "16-commands.html#read_line", "read_line", "chapter 16", "Reads the line of standard input with this number into text, without its end (LF or CR LF); false after the last. Fails if the input cannot be read or is not text.", "bool read_line(char text[LONGEST_LINE], int number)"],
["function", "16-commands.html#tokenize_input", "tokenize_input", "chapter 16", "text -> its tokens in *s, which the caller frees. Returns NULL, or what is wrong with the text, to be said after its name.", "const char *tokenize_input(const char *text, const Checkpoint *c,\n                           const Vocab *v, Sentence *s)"],
["function", "16-commands.html#translate_command", "translate_command", "chapter 16", "transformer translate MODEL", "void translate_command(const Arguments *a, Checkpoint *c)"],
["function", "16-commands.html#evaluate_command", "evaluate_command", "chapter 16", "transformer evaluate MODEL DATA.tsv", "void evaluate_command(const Arguments *a, Checkpoint *c)"],
["function", "16-commands.html#given_sentence", "given_sentence", "chapter 16", "The tokens of a text from the command line, called so in messages.", "Sentence given_sentence(const char *called, const char *text,\n                        const Checkpoint *c, const Vocab *v)"],
["function", "16-commands.html#attention_command", "attention_command", "chapter 16", "transformer attention MODEL SENTENCE", "void attention_command(const Arguments *a, Checkpoint *c)"],
["function", "16-commands.html#option_text", "option_text", "chapter 16", "The value of an option as text: as it was given, or a number that follows from others, which only a few have.", "const char *option_text(char to[32], const Settings *s, int i)"],
["function", "16-commands.html#info_command", "info_command", "chapter 16", "transformer info [MODEL]", "void info_command(const Arguments *a, Checkpoint *c)"],
["table", "16-commands.html#function_of", "function_of", "chapter 16", "", "void (*const function_of[COMMANDS])(const Arguments *, Checkpoint *) = {\n    train_command, translate_command, evaluate_command, attention_command,\n    info_command};"],
["function", "16-commands.html#main", "main", "chapter 16", "The status is 0, or 128 plus the number of the signal that stopped training.", "int main(int argc, char **argv)"],
["page", "index.html", "transformer.c", "", "", ""],
["section", "index.html#who-it-is-for", "Who it is for", "transformer.c", "", ""],
["section", "index.html#where-to-begin", "Where to begin", "transformer.c", "", ""],
["section", "index.html#the-whole-model", "The whole model", "transformer.c", "", ""],
["section", "index.html#contents", "Contents", "transformer.c", "", ""],
["section", "index.html#how-to-read", "How to read", "transformer.c", "", ""],
["section", "index.html#beside-the-paper-and-the-tutorials", "Beside the paper and the tutorials", "transformer.c", "", ""],
["section", "index.html#try-it", "Try it", "transformer.c", "", ""],
["page", "00-manual.html", "0. Manual", "", "", ""],
["section", "00-manual.html#manual-build-and-run", "Build and run", "0. Manual", "", ""],
["section", "00-manual.html#manual-the-model-in-one-picture", "The model in one picture", "0. Manual", "", ""],
["section", "00-manual.html#manual-letters", "Letters", "0. Manual", "", ""],
["section", "00-manual.html#manual-contents", "Contents", "0. Manual", "", ""],
["section", "00-manual.html#manual-what-it-needs", "What it needs", "0. Manual", "", ""],
["section", "00-manual.html#manual-questions", "Questions", "0. Manual", "", ""],
["page", "01-numbers.html", "1. Numbers", "", "", ""],
["section", "01-numbers.html#numbers-the-number-type", "The number type", "1. Numbers", "", ""],
["section", "01-numbers.html#numbers-matrices-are-views", "Matrices are views", "1. Numbers", "", ""],
["section", "01-numbers.html#numbers-the-matrix-product", "The matrix product", "1. Numbers", "", ""],
["section", "01-numbers.html#numbers-tools", "Tools", "1. Numbers", "", ""],
["section", "01-numbers.html#numbers-shape-and-several-threads", "SHAPE, and several threads", "1. Numbers", "", ""],
["section", "01-numbers.html#numbers-memory", "Memory", "1. Numbers", "", ""],
["section", "01-numbers.html#numbers-randomness", "Randomness", "1. Numbers", "", ""],
["section", "01-numbers.html#numbers-questions", "Questions", "1. Numbers", "", ""],
["page", "02-attention.html", "2. Scaled dot-product attention", "", "", ""],
["section", "02-attention.html#attention-what-a-mask-is", "What a mask is", "2. Scaled dot-product attention", "", ""],
["section", "02-attention.html#attention-softmax", "Softmax", "2. Scaled dot-product attention", "", ""],
["section", "02-attention.html#attention-formulas", "Formulas", "2. Scaled dot-product attention", "", ""],
["section", "02-attention.html#attention-how-to-differentiate-a-program", "How to differentiate a program", "2. Scaled dot-product attention", "", ""],
["section", "02-attention.html#attention-softmax-backward", "Softmax, backward", "2. Scaled dot-product attention", "", ""],
["section", "02-attention.html#attention-dropout", "Dropout", "2. Scaled dot-product attention", "", ""],
["section", "02-attention.html#attention-attention-forward-and-backward", "Attention, forward and backward", "2. Scaled dot-product attention", "", ""],
["section", "02-attention.html#attention-by-hand", "By hand", "2. Scaled dot-product attention", "", ""],
["section", "02-attention.html#attention-break-it", "Break it", "2. Scaled dot-product attention", "", ""],
["section", "02-attention.html#attention-measured", "Measured", "2. Scaled dot-product attention", "", ""],
["section", "02-attention.html#attention-questions", "Questions", "2. Scaled dot-product attention", "", ""],
["page", "03-multi-head.html", "3. Multi-head attention", "", "", ""],
["section", "03-multi-head.html#multi-head-one-pass-through-the-model", "One pass through the model", "3. Multi-head attention", "", ""],
["section", "03-multi-head.html#multi-head-a-linear-layer", "A linear layer", "3. Multi-head attention", "", ""],
["section", "03-multi-head.html#multi-head-heads-are-slices-of-columns", "Heads are slices of columns", "3. Multi-head attention", "", ""],
["section", "03-multi-head.html#multi-head-by-hand", "By hand", "3. Multi-head attention", "", ""],
["section", "03-multi-head.html#multi-head-break-it", "Break it", "3. Multi-head attention", "", ""],
["section", "03-multi-head.html#multi-head-measured", "Measured", "3. Multi-head attention", "", ""],
["section", "03-multi-head.html#multi-head-questions", "Questions", "3. Multi-head attention", "", ""],
["page", "04-embedding.html", "4. Embeddings and positional encoding", "", "", ""],
["section", "04-embedding.html#embedding-from-a-token-to-a-vector", "From a token to a vector", "4. Embeddings and positional encoding", "", ""],
["section", "04-embedding.html#embedding-where-a-token-stands", "Where a token stands", "4. Embeddings and positional encoding", "", ""],
["section", "04-embedding.html#embedding-by-hand", "By hand", "4. Embeddings and positional encoding", "", ""],
["section", "04-embedding.html#embedding-break-it", "Break it", "4. Embeddings and positional encoding", "", ""],
["section", "04-embedding.html#embedding-measured", "Measured", "4. Embeddings and positional encoding", "", ""],
["section", "04-embedding.html#embedding-questions", "Questions", "4. Embeddings and positional encoding", "", ""],
["page", "05-feed-forward.html", "5. The position-wise feed-forward network", "", "", ""],
["section", "05-feed-forward.html#feed-forward-by-hand", "By hand", "5. The position-wise feed-forward network", "", ""],
["section", "05-feed-forward.html#feed-forward-break-it", "Break it", "5. The position-wise feed-forward network", "", ""],
["section", "05-feed-forward.html#feed-forward-measured", "Measured", "5. The position-wise feed-forward network", "", ""],
["section", "05-feed-forward.html#feed-forward-questions", "Questions", "5. The position-wise feed-forward network", "", ""],
["page", "06-residual.html", "6. Residual connections and layer normalization", "", "", ""],
["section", "06-residual.html#residual-layer-normalization", "Layer normalization", "6. Residual connections and layer normalization", "", ""],
["section", "06-residual.html#residual-the-backward-pass-of-a-norm", "The backward pass of a norm", "6. Residual connections and layer normalization", "", ""],
["section", "06-residual.html#residual-dropout", "Dropout", "6. Residual connections and layer normalization", "", ""],
["section", "06-residual.html#residual-where-the-norm-stands", "Where the norm stands", "6. Residual connections and layer normalization", "", ""],
["section", "06-residual.html#residual-by-hand", "By hand", "6. Residual connections and layer normalization", "", ""],
["section", "06-residual.html#residual-break-it", "Break it", "6. Residual connections and layer normalization", "", ""],
["section", "06-residual.html#residual-measured", "Measured", "6. Residual connections and layer normalization", "", ""],
["section", "06-residual.html#residual-questions", "Questions", "6. Residual connections and layer normalization", "", ""],
["page", "07-encoder.html", "7. The encoder", "", "", ""],
["section", "07-encoder.html#encoder-sub-layers", "Sub-layers", "7. The encoder", "", ""],
["section", "07-encoder.html#encoder-an-encoder-layer", "An encoder layer", "7. The encoder", "", ""],
["section", "07-encoder.html#encoder-the-stack", "The stack", "7. The encoder", "", ""],
["section", "07-encoder.html#encoder-a-layer-flattened", "A layer, flattened", "7. The encoder", "", ""],
["section", "07-encoder.html#encoder-break-it", "Break it", "7. The encoder", "", ""],
["section", "07-encoder.html#encoder-measured", "Measured", "7. The encoder", "", ""],
["section", "07-encoder.html#encoder-questions", "Questions", "7. The encoder", "", ""],
["page", "08-decoder.html", "8. The decoder, and the whole model", "", "", ""],
["section", "08-decoder.html#decoder-the-stack", "The stack", "8. The decoder, and the whole model", "", ""],
["section", "08-decoder.html#decoder-the-whole-model", "The whole model", "8. The decoder, and the whole model", "", ""],
["section", "08-decoder.html#decoder-one-list-of-all-parameters", "One list of all parameters", "8. The decoder, and the whole model", "", ""],
["section", "08-decoder.html#decoder-what-the-list-says", "What the list says", "8. The decoder, and the whole model", "", ""],
["section", "08-decoder.html#decoder-the-model", "The model", "8. The decoder, and the whole model", "", ""],
["section", "08-decoder.html#decoder-forward-and-backward-through-everything", "Forward and backward through everything", "8. The decoder, and the whole model", "", ""],
["section", "08-decoder.html#decoder-break-it", "Break it", "8. The decoder, and the whole model", "", ""],
["section", "08-decoder.html#decoder-measured", "Measured", "8. The decoder, and the whole model", "", ""],
["section", "08-decoder.html#decoder-questions", "Questions", "8. The decoder, and the whole model", "", ""],
["page", "09-masks.html", "9. Masks", "", "", ""],
["section", "09-masks.html#masks-a-batch-through-the-model", "A batch through the model", "9. Masks", "", ""],
["section", "09-masks.html#masks-break-it", "Break it", "9. Masks", "", ""],
["section", "09-masks.html#masks-measured", "Measured", "9. Masks", "", ""],
["section", "09-masks.html#masks-questions", "Questions", "9. Masks", "", ""],
["page", "10-batches.html", "10. Batches", "", "", ""],
["section", "10-batches.html#batches-sentences-of-numbers", "Sentences of numbers", "10. Batches", "", ""],
["section", "10-batches.html#batches-which-pairs-make-a-batch", "Which pairs make a batch?", "10. Batches", "", ""],
["section", "10-batches.html#batches-packing", "Packing", "10. Batches", "", ""],
["section", "10-batches.html#batches-break-it", "Break it", "10. Batches", "", ""],
["section", "10-batches.html#batches-questions", "Questions", "10. Batches", "", ""],
["page", "11-training.html", "11. Training", "", "", ""],
["section", "11-training.html#training-the-loss", "The loss", "11. Training", "", ""],
["section", "11-training.html#training-clipping", "Clipping", "11. Training", "", ""],
["section", "11-training.html#training-adam", "Adam", "11. Training", "", ""],
["section", "11-training.html#training-the-learning-rate", "The learning rate", "11. Training", "", ""],
["section", "11-training.html#training-one-step", "One step", "11. Training", "", ""],
["section", "11-training.html#training-how-good-is-it", "How good is it?", "11. Training", "", ""],
["section", "11-training.html#training-the-loop", "The loop", "11. Training", "", ""],
["section", "11-training.html#training-who-calls-whom", "Who calls whom", "11. Training", "", ""],
["section", "11-training.html#training-by-hand", "By hand", "11. Training", "", ""],
["section", "11-training.html#training-break-it", "Break it", "11. Training", "", ""],
["section", "11-training.html#training-numbers", "Are your numbers right?", "11. Training", "", ""],
["section", "11-training.html#training-measured", "Measured", "11. Training", "", ""],
["section", "11-training.html#training-questions", "Questions", "11. Training", "", ""],
["page", "12-decoding.html", "12. Decoding", "", "", ""],
["section", "12-decoding.html#decoding-the-cache", "The cache", "12. Decoding", "", ""],
["section", "12-decoding.html#decoding-the-loop", "The loop", "12. Decoding", "", ""],
["section", "12-decoding.html#decoding-beam-search", "Beam search", "12. Decoding", "", ""],
["section", "12-decoding.html#decoding-all-sentences", "All sentences", "12. Decoding", "", ""],
["section", "12-decoding.html#decoding-is-it-a-good-translation", "Is it a good translation?", "12. Decoding", "", ""],
["section", "12-decoding.html#decoding-by-hand", "By hand", "12. Decoding", "", ""],
["section", "12-decoding.html#decoding-break-it", "Break it", "12. Decoding", "", ""],
["section", "12-decoding.html#decoding-measured", "Measured", "12. Decoding", "", ""],
["section", "12-decoding.html#decoding-questions", "Questions", "12. Decoding", "", ""],
["page", "13-looking.html", "13. Looking inside", "", "", ""],
["section", "13-looking.html#looking-finding-the-weights", "Finding the weights", "13. Looking inside", "", ""],
["section", "13-looking.html#looking-as-a-file", "As a file", "13. Looking inside", "", ""],
["section", "13-looking.html#looking-as-a-picture", "As a picture", "13. Looking inside", "", ""],
["section", "13-looking.html#looking-where-the-parameters-are", "Where the parameters are", "13. Looking inside", "", ""],
["section", "13-looking.html#looking-how-much-memory-a-training-step-takes", "How much memory a training step takes", "13. Looking inside", "", ""],
["section", "13-looking.html#looking-here-ends-the-transformer", "Here ends the Transformer", "13. Looking inside", "", ""],
["section", "13-looking.html#looking-where-does-the-model-know-it-from", "Where does the model know it from?", "13. Looking inside", "", ""],
["section", "13-looking.html#looking-one-model-or-all", "One model, or all?", "13. Looking inside", "", ""],
["section", "13-looking.html#looking-measured", "Measured", "13. Looking inside", "", ""],
["section", "13-looking.html#looking-questions", "Questions", "13. Looking inside", "", ""],
["page", "fast.html", "Interlude. The engine room", "", "", ""],
["section", "fast.html#engine-room-when-something-is-wrong", "When something is wrong", "Interlude. The engine room", "", ""],
["section", "fast.html#engine-room-loops-and-the-order-of-a-sum", "Loops, and the order of a sum", "Interlude. The engine room", "", ""],
["section", "fast.html#engine-room-the-arena", "The arena", "Interlude. The engine room", "", ""],
["section", "fast.html#engine-room-random-numbers", "Random numbers", "Interlude. The engine room", "", ""],
["section", "fast.html#engine-room-files-that-replace-others", "Files that replace others", "Interlude. The engine room", "", ""],
["section", "fast.html#engine-room-threads-that-wait", "Threads that wait", "Interlude. The engine room", "", ""],
["section", "fast.html#engine-room-why-three-loops-are-slow", "Why three loops are slow", "Interlude. The engine room", "", ""],
["section", "fast.html#engine-room-large-products", "Large products", "Interlude. The engine room", "", ""],
["section", "fast.html#engine-room-the-exponential", "The exponential", "Interlude. The engine room", "", ""],
["section", "fast.html#measured-step-by-step", "Measured, step by step", "Interlude. The engine room", "", ""],
["section", "fast.html#the-definition", "1. The definition", "Interlude. The engine room", "", ""],
["section", "fast.html#the-order-of-the-loops", "2. The order of the loops", "Interlude. The engine room", "", ""],
["section", "fast.html#a-tile-in-registers", "3. A tile in registers", "Interlude. The engine room", "", ""],
["section", "fast.html#packing-columns", "4. Packing", "Interlude. The engine room", "", ""],
["section", "fast.html#blocking", "5. Blocking", "Interlude. The engine room", "", ""],
["section", "fast.html#threads", "6. Threads", "Interlude. The engine room", "", ""],
["section", "fast.html#a-whole-step", "A whole step", "Interlude. The engine room", "", ""],
["section", "fast.html#decoding", "Decoding", "Interlude. The engine room", "", ""],
["section", "fast.html#how-a-step-grows", "How a step grows", "Interlude. The engine room", "", ""],
["section", "fast.html#engine-room-questions", "Questions", "Interlude. The engine room", "", ""],
["page", "14-text.html", "14. Text", "", "", ""],
["section", "14-text.html#text-characters", "Characters", "14. Text", "", ""],
["section", "14-text.html#text-tokens", "Tokens", "14. Text", "", ""],
["section", "14-text.html#text-the-vocabulary", "The vocabulary", "14. Text", "", ""],
["section", "14-text.html#text-byte-pairs", "Byte pairs", "14. Text", "", ""],
["section", "14-text.html#text-text-to-sentences-and-back", "Text to sentences, and back", "14. Text", "", ""],
["section", "14-text.html#text-learning-byte-pairs", "Learning byte pairs", "14. Text", "", ""],
["section", "14-text.html#text-files-of-sentence-pairs", "Files of sentence pairs", "14. Text", "", ""],
["section", "14-text.html#text-translations-as-words", "Translations as words", "14. Text", "", ""],
["section", "14-text.html#text-questions", "Questions", "14. Text", "", ""],
["page", "15-saving.html", "15. Saving and loading", "", "", ""],
["section", "15-saving.html#saving-settings", "Settings", "15. Saving and loading", "", ""],
["section", "15-saving.html#saving-from-text-to-value", "From text to value", "15. Saving and loading", "", ""],
["section", "15-saving.html#saving-a-checkpoint", "A checkpoint", "15. Saving and loading", "", ""],
["section", "15-saving.html#saving-the-file-format", "The file format", "15. Saving and loading", "", ""],
["section", "15-saving.html#saving-what-writing-and-reading-share", "What writing and reading share", "15. Saving and loading", "", ""],
["section", "15-saving.html#saving-one-number-for-a-whole-model", "One number for a whole model", "15. Saving and loading", "", ""],
["section", "15-saving.html#saving-writing", "Writing", "15. Saving and loading", "", ""],
["section", "15-saving.html#saving-reading", "Reading", "15. Saving and loading", "", ""],
["section", "15-saving.html#saving-measured", "Measured", "15. Saving and loading", "", ""],
["section", "15-saving.html#saving-questions", "Questions", "15. Saving and loading", "", ""],
["page", "16-commands.html", "16. The command line", "", "", ""],
["section", "16-commands.html#commands-what-the-user-asks-for", "What the user asks for", "16. The command line", "", ""],
["section", "16-commands.html#commands-help", "Help", "16. The command line", "", ""],
["section", "16-commands.html#commands-reading-the-command-line", "Reading the command line", "16. The command line", "", ""],
["section", "16-commands.html#commands-the-terminal-and-ctrl-c", "The terminal, and Ctrl-C", "16. The command line", "", ""],
["section", "16-commands.html#commands-what-all-commands-with-a-model-do", "What all commands with a model do", "16. The command line", "", ""],
["section", "16-commands.html#commands-train", "train", "16. The command line", "", ""],
["section", "16-commands.html#commands-progress", "Progress", "16. The command line", "", ""],
["section", "16-commands.html#commands-the-log", "The log", "16. The command line", "", ""],
["section", "16-commands.html#commands-after-each-step", "After each step", "16. The command line", "", ""],
["section", "16-commands.html#commands-where-training-begins", "Where training begins", "16. The command line", "", ""],
["section", "16-commands.html#commands-the-command", "The command", "16. The command line", "", ""],
["section", "16-commands.html#commands-translate", "translate", "16. The command line", "", ""],
["section", "16-commands.html#commands-evaluate", "evaluate", "16. The command line", "", ""],
["section", "16-commands.html#commands-attention", "attention", "16. The command line", "", ""],
["section", "16-commands.html#commands-info", "info", "16. The command line", "", ""],
["section", "16-commands.html#commands-main", "main", "16. The command line", "", ""],
["section", "16-commands.html#commands-questions", "Questions", "16. The command line", "", ""],
["page", "gpt.html", "From here to GPT", "", "", ""],
["section", "gpt.html#what-a-decoder-only-model-drops", "What a decoder-only model drops", "From here to GPT", "", ""],
["section", "gpt.html#what-it-keeps", "What it keeps", "From here to GPT", "", ""],
["section", "gpt.html#what-large-models-do-differently", "What large models do differently", "From here to GPT", "", ""],
["section", "gpt.html#four-of-them-built", "Four of them, built", "From here to GPT", "", ""],
["section", "gpt.html#published-models-read", "Published models, read", "From here to GPT", "", ""],
["section", "gpt.html#pre-training-made", "Pre-training, made", "From here to GPT", "", ""],
["section", "gpt.html#where-to-go-next", "Where to go next", "From here to GPT", "", ""],
["page", "articles.html", "From your tutorial to the chapters", "", "", ""],
["section", "articles.html#tutorial-1-transformer-deep-dive", "Tutorial 1: Transformer deep dive", "From your tutorial to the chapters", "", ""],
["section", "articles.html#tutorial-2-transformer-step-by-step", "Tutorial 2: Transformer step by step", "From your tutorial to the chapters", "", ""],
["section", "articles.html#tutorial-3-transformer-reference-card", "Tutorial 3: Transformer reference card", "From your tutorial to the chapters", "", ""],
["section", "articles.html#tutorial-4-how-to-implement-a-transformer-in-pytorch", "Tutorial 4: How to Implement a Transformer in PyTorch", "From your tutorial to the chapters", "", ""],
["section", "articles.html#tutorial-5-learn-ai-series-52-the-transformer-architecture-part-1", "Tutorial 5: Learn AI Series #52: The Transformer Architecture (Part 1)", "From your tutorial to the chapters", "", ""],
["section", "articles.html#the-annotated-transformer", "The Annotated Transformer", "From your tutorial to the chapters", "", ""],
["section", "articles.html#the-illustrated-transformer", "The Illustrated Transformer", "From your tutorial to the chapters", "", ""],
["section", "articles.html#lets-build-gpt", "Let's build GPT", "From your tutorial to the chapters", "", ""],
["section", "articles.html#not-in-this-file", "Not in this file", "From your tutorial to the chapters", "", ""],
["section", "articles.html#pitfalls-and-the-tests-that-guard-against-them", "Pitfalls, and the tests that guard against them", "From your tutorial to the chapters", "", ""],
["section", "articles.html#what-the-tutorials-get-wrong", "What the tutorials get wrong", "From your tutorial to the chapters", "", ""],
["page", "tiny.html", "All of it, on ten screens", "", "", ""],
["section", "tiny.html#sizes", "Sizes", "All of it, on ten screens", "", ""],
["section", "tiny.html#random-numbers", "Random numbers", "All of it, on ten screens", "", ""],
["section", "tiny.html#numbers-and-their-gradients", "Numbers, and their gradients", "All of it, on ten screens", "", ""],
["section", "tiny.html#a-linear-layer", "A linear layer", "All of it, on ten screens", "", ""],
["section", "tiny.html#dropout-residual-connection-and-norm", "Dropout, residual connection and norm", "All of it, on ten screens", "", ""],
["section", "tiny.html#embedding", "Embedding", "All of it, on ten screens", "", ""],
["section", "tiny.html#attention", "Attention", "All of it, on ten screens", "", ""],
["section", "tiny.html#the-feed-forward-network", "The feed-forward network", "All of it, on ten screens", "", ""],
["section", "tiny.html#the-model", "The model", "All of it, on ten screens", "", ""],
["section", "tiny.html#a-step-of-training", "A step of training", "All of it, on ten screens", "", ""],
["section", "tiny.html#words-and-pairs", "Words and pairs", "All of it, on ten screens", "", ""],
["section", "tiny.html#translation-training", "Translation, training", "All of it, on ten screens", "", ""],
["page", "deviations.html", "Where the program departs from the paper", "", "", ""],
["page", "exercises.html", "Exercises", "", "", ""],
["section", "exercises.html#write-it", "Write it", "Exercises", "", ""],
["section", "exercises.html#exercise-matmul-definition", "01. The matrix product", "Exercises", "", ""],
["section", "exercises.html#exercise-softmax-row", "02. A softmax that survives", "Exercises", "", ""],
["section", "exercises.html#exercise-softmax-backward", "03. The backward pass of softmax", "Exercises", "", ""],
["section", "exercises.html#exercise-attention-forward", "04. Scaled dot-product attention", "Exercises", "", ""],
["section", "exercises.html#exercise-attention-backward", "05. The backward pass of attention", "Exercises", "", ""],
["section", "exercises.html#exercise-linear-backward", "06. The backward pass of a linear layer", "Exercises", "", ""],
["section", "exercises.html#exercise-head", "07. A head is a block", "Exercises", "", ""],
["section", "exercises.html#exercise-sinusoidal-positions", "08. The table of positions", "Exercises", "", ""],
["section", "exercises.html#exercise-embedding-backward", "09. Where the gradient of a word goes", "Exercises", "", ""],
["section", "exercises.html#exercise-activation-backward", "10. The slope of the bend", "Exercises", "", ""],
["section", "exercises.html#exercise-ffn-backward", "11. The backward pass of the feed-forward network", "Exercises", "", ""],
["section", "exercises.html#exercise-norm-forward", "12. Layer normalization", "Exercises", "", ""],
["section", "exercises.html#exercise-norm-backward", "13. The backward pass of a norm", "Exercises", "", ""],
["section", "exercises.html#exercise-dropout-row", "14. Dropout", "Exercises", "", ""],
["section", "exercises.html#exercise-residual-leave", "15. Leaving a sub-layer", "Exercises", "", ""],
["section", "exercises.html#exercise-residual-leave-backward", "16. A gradient goes both ways", "Exercises", "", ""],
["section", "exercises.html#exercise-attention-sublayer-backward", "17. The backward pass of a sub-layer", "Exercises", "", ""],
["section", "exercises.html#exercise-encoder-layer-forward", "18. An encoder layer", "Exercises", "", ""],
["section", "exercises.html#exercise-decoder-layer-forward", "19. A decoder layer", "Exercises", "", ""],
["section", "exercises.html#exercise-decoder-layer-backward", "20. The backward pass of a decoder layer", "Exercises", "", ""],
["section", "exercises.html#exercise-padding-mask", "21. The padding mask", "Exercises", "", ""],
["section", "exercises.html#exercise-causal-padding-mask", "22. No look ahead, no padding", "Exercises", "", ""],
["section", "exercises.html#exercise-make-batch", "23. What the decoder reads", "Exercises", "", ""],
["section", "exercises.html#exercise-loss-forward", "24. How wrong was it?", "Exercises", "", ""],
["section", "exercises.html#exercise-loss-backward", "25. What it says minus what it should say", "Exercises", "", ""],
["section", "exercises.html#exercise-clip-factor", "26. Clipping", "Exercises", "", ""],
["section", "exercises.html#exercise-adam-step", "27. Adam", "Exercises", "", ""],
["section", "exercises.html#exercise-learning-rate", "28. Warm-up", "Exercises", "", ""],
["section", "exercises.html#exercise-decoder-layer-step", "29. One word with a cache", "Exercises", "", ""],
["section", "exercises.html#exercise-translate", "30. Choosing the next word", "Exercises", "", ""],
["section", "exercises.html#exercise-beam-step", "31. One step of a beam", "Exercises", "", ""],
["section", "exercises.html#find-the-bug", "Find the bug", "Exercises", "", ""],
["section", "exercises.html#exercise-training-and-use", "32. Good in training, worse in use", "Exercises", "", ""],
["section", "exercises.html#exercise-two-answers", "33. One model, two answers", "Exercises", "", ""],
["section", "exercises.html#exercise-slow-learner", "34. A slow learner", "Exercises", "", ""],
["section", "exercises.html#exercise-lost-order", "35. Lost order", "Exercises", "", ""],
["section", "exercises.html#exercise-growing-gradient", "36. The gradient that grows", "Exercises", "", ""],
["section", "exercises.html#exercise-looks-healthy", "37. It looks healthy", "Exercises", "", ""],
["section", "exercises.html#exercise-half-asleep", "38. Half of the model is asleep", "Exercises", "", ""],
["section", "exercises.html#exercise-too-good", "39. Too good to be true", "Exercises", "", ""],
["section", "exercises.html#exercise-flat-start", "40. A flat start", "Exercises", "", ""],
["section", "exercises.html#exercise-stutter", "41. The stutter", "Exercises", "", ""],
["section", "exercises.html#exercise-learns-and-forgets", "42. It learns, and then it forgets", "Exercises", "", ""],
["section", "exercises.html#compute-it", "Compute it", "Exercises", "", ""],
["section", "exercises.html#exercise-parameter-counts", "43. Where are the parameters?", "Exercises", "", ""],
["section", "exercises.html#exercise-pre-and-post-norm", "44. Pre-norm against post-norm", "Exercises", "", ""],
["section", "exercises.html#exercise-distant-positions", "45. Far away is as near as next door", "Exercises", "", ""],
["section", "exercises.html#exercise-heads-and-weights", "46. Four heads, and what they cost", "Exercises", "", ""],
["section", "exercises.html#exercise-permutation", "47. Attention does not know order", "Exercises", "", ""],
["section", "exercises.html#train-it", "Train it", "Exercises", "", ""],
["section", "exercises.html#exercise-overfit-one-batch", "48. Overfit one batch", "Exercises", "", ""],
["section", "exercises.html#exercise-reversal", "49. Reversal to 100 %", "Exercises", "", ""],
["section", "exercises.html#compute-it-1", "Compute it", "Exercises", "", ""],
["section", "exercises.html#exercise-rms-norm", "50. RMSNorm", "Exercises", "", ""],
["section", "exercises.html#exercise-rotary-positions", "51. Positions that turn", "Exercises", "", ""],
["section", "exercises.html#exercise-swiglu", "52. A gate in the feed-forward network", "Exercises", "", ""],
["section", "exercises.html#exercise-grouped-queries", "53. Heads that share", "Exercises", "", ""],
["section", "exercises.html#exercise-what-is-missing", "54. What is missing?", "Exercises", "", ""],
["section", "exercises.html#exercise-where-from", "55. Where does it know it from?", "Exercises", "", ""],
["section", "exercises.html#exercise-what-text-tells", "56. What a text can tell", "Exercises", "", ""],
["section", "exercises.html#train-it-1", "Train it", "Exercises", "", ""],
["section", "exercises.html#exercise-few-parameters", "57. Reversal with few parameters", "Exercises", "", ""],
["section", "exercises.html#exercise-carried-over", "58. Three hundred pairs", "Exercises", "", ""],
["page", "teacher.html", "For teachers", "", "", ""],
["section", "teacher.html#what-you-need", "What you need", "For teachers", "", ""],
["section", "teacher.html#running-a-lab", "Running a lab", "For teachers", "", ""],
["section", "teacher.html#how-grading-works", "How grading works", "For teachers", "", ""],
["section", "teacher.html#a-class", "A class", "For teachers", "", ""],
["section", "teacher.html#gradescope", "Gradescope", "For teachers", "", ""],
["section", "teacher.html#another-grading-system", "Another grading system", "For teachers", "", ""],
["section", "teacher.html#three-plans", "Three plans", "For teachers", "", ""],
["section", "teacher.html#minutes-attention", "90 minutes: attention", "For teachers", "", ""],
["section", "teacher.html#a-week-the-whole-model", "A week: the whole model", "For teachers", "", ""],
["section", "teacher.html#a-project-all-of-it-in-four-to-six-weeks", "A project: all of it, in four to six weeks", "For teachers", "", ""],
["section", "teacher.html#adding-an-exercise", "Adding an exercise", "For teachers", "", ""],
["section", "teacher.html#what-cheating-looks-like-and-what-is-no-cause-for-worry", "What cheating looks like, and what is no cause for worry", "For teachers", "", ""],
["page", "course.html", "A course with this book", "", "", ""],
["section", "course.html#what-students-need", "What students need", "A course with this book", "", ""],
["section", "course.html#learning-objectives", "Learning objectives", "A course with this book", "", ""],
["section", "course.html#four-weeks-spread-over-five", "Four weeks, spread over five", "A course with this book", "", ""],
["section", "course.html#ten-weeks-and-one-to-catch-up", "Ten weeks, and one to catch up", "A course with this book", "", ""],
["section", "course.html#questions-to-discuss", "Questions to discuss", "A course with this book", "", ""],
["section", "course.html#how-to-hide-solutions", "How to hide solutions", "A course with this book", "", ""],
["section", "course.html#answers-from-a-language-model", "Answers from a language model", "A course with this book", "", ""],
["page", "concept-test.html", "A concept test", "", "", ""],
["section", "concept-test.html#concept-1", "1. Dropout", "A concept test", "", ""],
["section", "concept-test.html#concept-2", "2. A product that is added", "A concept test", "", ""],
["section", "concept-test.html#concept-3", "3. A hidden key", "A concept test", "", ""],
["section", "concept-test.html#concept-4", "4. Nothing to see", "A concept test", "", ""],
["section", "concept-test.html#concept-5", "5. Back through softmax", "A concept test", "", ""],
["section", "concept-test.html#concept-6", "6. The scale", "A concept test", "", ""],
["section", "concept-test.html#concept-7", "7. Where a head stands", "A concept test", "", ""],
["section", "concept-test.html#concept-8", "8. The gradient of a bias", "A concept test", "", ""],
["section", "concept-test.html#concept-9", "9. The code of a position", "A concept test", "", ""],
["section", "concept-test.html#concept-10", "10. A word that occurs twice", "A concept test", "", ""],
["section", "concept-test.html#concept-11", "11. The slope of GELU", "A concept test", "", ""],
["section", "concept-test.html#concept-12", "12. A norm of two numbers", "A concept test", "", ""],
["section", "concept-test.html#concept-13", "13. The gradient of a norm", "A concept test", "", ""],
["section", "concept-test.html#concept-14", "14. Where the norm stands", "A concept test", "", ""],
["section", "concept-test.html#concept-15", "15. One layer", "A concept test", "", ""],
["section", "concept-test.html#concept-16", "16. Who asks", "A concept test", "", ""],
["section", "concept-test.html#concept-17", "17. How much is visible", "A concept test", "", ""],
["section", "concept-test.html#concept-18", "18. The mask of a source", "A concept test", "", ""],
["section", "concept-test.html#concept-19", "19. What the decoder reads", "A concept test", "", ""],
["section", "concept-test.html#concept-20", "20. How wrong", "A concept test", "", ""],
["section", "concept-test.html#concept-21", "21. The first gradient", "A concept test", "", ""],
["section", "concept-test.html#concept-22", "22. Clipping", "A concept test", "", ""],
["section", "concept-test.html#concept-23", "23. The schedule", "A concept test", "", ""],
["section", "concept-test.html#concept-24", "24. The cache", "A concept test", "", ""],
["page", "lesson.html", "The live page, in a lesson", "", "", ""],
["section", "lesson.html#a-link-is-a-lesson", "A link is a lesson", "The live page, in a lesson", "", ""],
["section", "lesson.html#five-links", "Five links", "The live page, in a lesson", "", ""],
["section", "lesson.html#one-more-a-gpt", "One more: a GPT", "The live page, in a lesson", "", ""],
["section", "lesson.html#ninety-minutes-of-c-and-nothing-to-install", "Ninety minutes of C, and nothing to install", "The live page, in a lesson", "", ""],
["section", "lesson.html#what-the-switches-give", "What the switches give", "The live page, in a lesson", "", ""],
["section", "lesson.html#when-something-goes-wrong", "When something goes wrong", "The live page, in a lesson", "", ""],
["page", "own-language.html", "Your own language", "", "", ""],
["section", "own-language.html#where-pairs-come-from", "Where pairs come from", "Your own language", "", ""],
["section", "own-language.html#one-file-with-two-columns", "One file with two columns", "Your own language", "", ""],
["section", "own-language.html#settings-that-worked", "Settings that worked", "Your own language", "", ""],
["section", "own-language.html#where-to-drop-and-how-fast-to-learn", "Where to drop, and how fast to learn", "Your own language", "", ""],
["section", "own-language.html#is-it-overfitting", "Is it overfitting?", "Your own language", "", ""],
["section", "own-language.html#when-the-loss-is-fine-and-bleu-is-nothing", "When the loss is fine and BLEU is nothing", "Your own language", "", ""],
["page", "testing.html", "How it is tested", "", "", ""],
["section", "testing.html#is-the-mathematics-right", "Is the mathematics right?", "How it is tested", "", ""],
["section", "testing.html#would-a-mistake-be-noticed", "Would a mistake be noticed?", "How it is tested", "", ""],
["section", "testing.html#a-constant-that-is-a-little-wrong", "A constant that is a little wrong", "How it is tested", "", ""],
["section", "testing.html#what-do-the-tests-reach", "What do the tests reach?", "How it is tested", "", ""],
["section", "testing.html#hostile-input", "Hostile input", "How it is tested", "", ""],
["section", "testing.html#a-machine-that-fails", "A machine that fails", "How it is tested", "", ""],
["section", "testing.html#memory-and-threads", "Memory and threads", "How it is tested", "", ""],
["section", "testing.html#platforms", "Platforms", "How it is tested", "", ""],
["section", "testing.html#pages-exercises-labs", "Pages, exercises, labs", "How it is tested", "", ""],
["section", "testing.html#several-machines", "Several machines", "How it is tested", "", ""],
["section", "testing.html#what-is-not-tested", "What is not tested", "How it is tested", "", ""],
["page", "functions.html", "Functions and types", "", "", ""],
["section", "functions.html#functions", "Functions", "Functions and types", "", ""],
["section", "functions.html#types", "Types", "Functions and types", "", ""],
["section", "functions.html#tables", "Tables", "Functions and types", "", ""],
["section", "functions.html#constants", "Constants", "Functions and types", "", ""],
["section", "functions.html#macros", "Macros", "Functions and types", "", ""],
["page", "terms.html", "Index of terms", "", "", ""]
];

// What the pages do beyond showing themselves: a search, the contract of a
// function where its name is a link, blanks for numbers, and the section that is
// being read. Without this script none of it is there, and nothing else is missing.

"use strict";

// --------------------------------------------------------------- finding

const KINDS = { term: 2, option: 1.5, function: 1.3, type: 1.2 }; // they come first
const LITTLE = ["a", "an", "and", "are", "by", "do", "does", "for", "how", "in", "is", "it",
                "of", "the", "to", "we", "what", "where", "which", "why"];
const MOST = 16; // results that are shown

let index = null, rows = []; // once the texts are there

// Neither case nor accents count.
function plain(text) {
    return text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
}

// A word as it is looked up: "divided" and "dividing" are one.
function stem(word) {
    const lower = plain(word).replace("√", "sqrt");
    return lower.length > 5 ? lower.replace(/(?:ing|ed|es|e|s)$/, "") : lower;
}

const cut = text => text.replaceAll("√", " √ ").split(/[\s\p{P}<>|`]+/u);

// The words of a question that say what it is about; if none does, all of them.
function wordsOf(question) {
    const words = question.split(/[\s?!"]+/).filter(word => word);
    const telling = words.filter(word => !LITTLE.includes(word.toLowerCase()));
    return (telling.length ? telling : words).join(" ");
}

// A formula of a lab as it is read: $\\sqrt{d_k}$ is √d_k.
const readable = text => text.replace(/\$+([^$]+)\$+/g, (_, formula) =>
    formula.replaceAll("\\sqrt", "√").replace(/\\[a-zA-Z]+ ?|[{}\\]/g, ""));

// What MiniSearch makes of all names and texts. A section is in both lists.
function indexAll() {
    const texts = new Set(TEXTS.map(([address]) => address));
    rows = FOUND.filter(([kind, address]) => kind !== "section" || !texts.has(address));
    rows.push(...TEXTS.map(([address, title, where, text]) =>
        ["section", address, title, where, readable(text)]));
    index = new MiniSearch({ fields: ["name", "text"], processTerm: stem, tokenize: cut });
    index.addAll(rows.map(([, , name, where, text], id) =>
        ({ id, name, text: where + " " + text })));
}

// The sentence of a text that has most of the words.
function sentenceWith(text, words) {
    const count = sentence => words.filter(word => plain(sentence).includes(word)).length;
    return text.split(/(?<=[.:;?!]) | · /).reduce((best, sentence) =>
        count(sentence) > count(best) ? sentence : best, "");
}

// The rows that have all words of a query, or words that begin so, best first: what is
// called so, then what has them in its name. If there is none, those with similar
// words. A term that has several names comes once.
function find(query) {
    const asked = wordsOf(query), sentences = new Set();
    const isName = ({ id }) => (rows[id][2] === asked) + [asked, "--" + asked].some(
        name => plain(name) === plain(rows[id][2]));
    const look = {
        combineWith: "AND", prefix: true, boost: { name: 6 },
        boostDocument: id => KINDS[rows[id][0]] || 1,
    };
    let hits = index && asked ? index.search(asked, look) : [];
    if (index && !hits.length)
        hits = index.search(asked, { ...look, fuzzy: 0.2 });
    return hits.sort((a, b) => isName(b) - isName(a)
        || (isName(a) ? a.id - b.id : b.score - a.score))
        .map(({ id, terms }) => {
            const [kind, address, name, where, text] = rows[id];
            return [kind, address, name, where, kind === "section"
                ? sentenceWith(text, terms) : text];
        })
        .filter(([kind, , , , text]) => kind !== "term"
            || !sentences.has(text) && sentences.add(text));
}

// ------------------------------------------------------------- the pages

// <tag class="name">, with text or elements in it
function element(tag, name, ...inside) {
    const made = document.createElement(tag);
    if (name)
        made.className = name;
    made.append(...inside);
    return made;
}

// A field in the head of the page; what is found stands below it, as links.
function addSearch(base) {
    const field = element("input"), list = element("ul");
    const status = element("p"), box = element("div", "found", status, list);
    const form = element("form", "search", field, box);
    field.type = "search";
    field.placeholder = "Search";
    field.setAttribute("aria-label", "Search the book");
    field.autocomplete = "off";
    form.setAttribute("role", "search");
    status.setAttribute("role", "status");
    box.hidden = true;

    function show() {
        const found = find(field.value);
        box.hidden = !field.value.trim();
        status.textContent = !index ? "Loading the index." : !found.length ? "Nothing found."
            : `${found.length} found`;
        list.replaceChildren(...found.slice(0, MOST).map(
            ([kind, address, name, where, text]) => {
                const link = element("a", kind, element("b", "", name), " ",
                    element("span", "", where || kind), element("small", "", text));
                link.href = base + address;
                return element("li", "", link);
            }));
    }

    // The texts are not small: they come when the field is first used.
    function fetchTexts() {
        const texts = element("script");
        texts.src = base + "texts.js";
        texts.addEventListener("load", () => { indexAll(); show(); });
        document.head.append(texts);
    }

    // The field and the links below it, for the arrow keys.
    function move(step) {
        const stops = [field, ...list.querySelectorAll("a")];
        const at = stops.indexOf(document.activeElement) + step;
        if (stops[at])
            stops[at].focus();
    }

    field.addEventListener("input", show);
    field.addEventListener("focus", show);
    field.addEventListener("focus", fetchTexts, { once: true });
    form.addEventListener("submit", event => {
        event.preventDefault();
        const first = list.querySelector("a");
        if (first)
            first.click();
    });
    form.addEventListener("keydown", event => {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step) {
            event.preventDefault();
            move(step);
        } else if (event.key === "Escape") {
            field.value = "";
            box.hidden = true;
            field.focus();
        }
    });
    list.addEventListener("click", () => { box.hidden = true; });
    form.addEventListener("focusout", event => {
        if (event.relatedTarget && !form.contains(event.relatedTarget))
            box.hidden = true;
    });
    document.addEventListener("click", event => {
        if (!form.contains(event.target))
            box.hidden = true;
    });
    document.addEventListener("keydown", event => {
        const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
        if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
            event.preventDefault();
            field.focus();
        }
    });
    document.querySelector("header").append(form);
}

// What a name stands for, beside a link that leads to it: under the mouse, at the
// keyboard's focus, and at the first tap. Escape or another place takes it away.
function addContracts() {
    const defined = new Map(FOUND.filter(row => row[5]).map(row => [row[2], row]));
    const card = element("div", "card");
    let shown = null, timer = 0;
    card.id = "contract";
    card.setAttribute("role", "tooltip");
    card.hidden = true;
    document.body.append(card);

    function linkOf(event) {
        const link = event.target.closest && event.target.closest("main a[href*='#']");
        return link && !link.closest(".where, h2, h3, h4")
            && defined.has(link.hash.slice(1)) ? link : null;
    }

    function hide() {
        clearTimeout(timer);
        if (shown)
            shown.removeAttribute("aria-describedby");
        shown = null;
        card.hidden = true;
    }

    function show(link, touched) {
        const [, , , where, text, code] = defined.get(link.hash.slice(1));
        hide();
        card.replaceChildren(element("pre", "", code), element("p", "text", text),
            element("p", "", touched ? `${where}: tap again to go there` : where));
        card.hidden = false;
        link.setAttribute("aria-describedby", card.id);
        shown = link;
        const at = link.getBoundingClientRect(), room = 8;
        const width = document.documentElement.clientWidth;
        const left = Math.min(at.left, width - card.offsetWidth - room);
        const below = at.bottom + card.offsetHeight + room < window.innerHeight;
        const top = below || at.top < card.offsetHeight + room
            ? at.bottom + 4 : at.top - card.offsetHeight - 4;
        card.style.left = Math.max(room, left) + window.scrollX + "px";
        card.style.top = top + window.scrollY + "px";
    }

    document.addEventListener("pointerover", event => {
        if (event.pointerType !== "mouse" || card.contains(event.target))
            return clearTimeout(timer);
        const link = linkOf(event);
        clearTimeout(timer);
        if (link !== shown)
            timer = setTimeout(() => link ? show(link) : hide(), 250);
    });
    document.addEventListener("focusin", event => {
        const link = linkOf(event);
        if (link && link.matches(":focus-visible"))
            show(link);
        else
            hide();
    });
    document.addEventListener("click", event => {
        const link = linkOf(event);
        if (link && link !== shown && event.pointerType === "touch") {
            event.preventDefault();
            show(link, true);
        } else if (!card.contains(event.target)) {
            hide();
        }
    });
    document.addEventListener("keydown", event => {
        if (event.key === "Escape")
            hide();
    });
}

// The number that a text says, such as -1/2 or 0.25; NaN of any other.
function numberOf(text) {
    const plainer = text.trim().replace(/[−–]/g, "-").replace(",", ".");
    const found = /^([-+]?(?:\d+\.?\d*|\.\d+))(?:\/(\d+))?$/.exec(plainer);
    return found ? found[1] / (found[2] || 1) : NaN;
}

// Is it the number? A rounded one may differ by one in its last digit.
function isNumber(typed, number) {
    const digits = number.includes("/") ? 0 : (number.split(".")[1] || "").length;
    const room = digits < 2 ? 1e-6 : 1.01 / 10 ** digits;
    return Math.abs(numberOf(typed) - numberOf(number)) < room;
}

// What is said of a number that somebody has typed into a blank: "" if it is right.
function judge(typed, answer, usual) {
    if (isNumber(typed, answer))
        return "";
    const mistake = usual.find(([wrong]) => isNumber(typed, wrong));
    return mistake ? mistake[1] : Number.isNaN(numberOf(typed))
        ? "a number is wanted, such as -1/2 or 0.25" : "not yet";
}

// A blank becomes a field. A right number is accepted as it is typed; a wrong one is
// answered when the field is left, below the paragraph.
function addField(blank, said) {
    const answer = blank.textContent, usual = JSON.parse(blank.dataset.usual);
    const field = element("input");
    field.size = 4;
    field.autocomplete = "off";
    field.setAttribute("aria-label", "the missing number");

    function check(event) {
        const typed = field.value.trim(), wrong = typed && judge(typed, answer, usual);
        field.classList.toggle("right", Boolean(typed) && !wrong);
        said.textContent = wrong && event.type === "change" ? `${typed}: ${wrong}` : "";
    }

    field.addEventListener("input", check);
    field.addEventListener("change", check);
    blank.dataset.answer = answer;
    blank.replaceChildren(field);
}

// The fields of all blanks, and a button that fills in those of a section.
function addBlanks() {
    const blanks = [...document.querySelectorAll(".blank")];
    for (const paragraph of new Set(blanks.map(blank => blank.closest("p")))) {
        const said = element("p", "said");
        said.setAttribute("role", "status");
        paragraph.after(said);
        for (const blank of paragraph.querySelectorAll(".blank"))
            addField(blank, said);
    }
    for (const section of document.querySelectorAll("section[id$='-by-hand']")) {
        const button = element("button", "", "Fill in all numbers");
        button.type = "button";
        button.addEventListener("click", () => {
            for (const blank of section.querySelectorAll(".blank"))
                blank.replaceChildren(blank.dataset.answer);
            button.remove();
        });
        section.append(button);
    }
}

// The list of pages is open where it stands beside the text, and else until a
// link in it is followed. The section that is being read is marked in it.
function followContents() {
    const contents = document.querySelector("nav.contents");
    if (!contents)
        return;
    const folded = contents.querySelector("details");
    const here = contents.querySelector(".here");
    const wide = window.matchMedia("(min-width: 78rem)");
    const links = [...contents.querySelectorAll("a[href^='#']")];
    const headings = links.map(link => document.getElementById(link.hash.slice(1)));
    let current = null, waiting = false;

    function mark() {
        waiting = false;
        const link = links.filter((_, i) => { // an edition may hide it
            const box = headings[i].getClientRects()[0];
            return box && box.top <= 120;
        }).pop() || null;
        if (link === current)
            return;
        if (current)
            current.removeAttribute("aria-current");
        current = link;
        here.textContent = link ? link.textContent : "";
        if (!link)
            return;
        link.setAttribute("aria-current", "true");
        const at = link.getBoundingClientRect(), box = contents.getBoundingClientRect();
        if (wide.matches && (at.top < box.top || at.bottom > box.bottom))
            contents.scrollTop += at.top - box.top - box.height / 2;
    }

    function unfold() {
        folded.open = wide.matches;
    }

    wide.addEventListener("change", unfold);
    unfold();
    folded.addEventListener("click", event => {
        if (event.target.closest("a"))
            unfold();
    });
    document.addEventListener("scroll", () => {
        if (!waiting)
            requestAnimationFrame(mark);
        waiting = true;
    }, { passive: true });
    mark();
}

// ----------------------------------------------------------- the editions

const EDITIONS = ["short", "full"], FIRST = "short"; // which folds plumbing and boxes

// The edition that was chosen last, given a new choice or not. The browser may keep none.
function editionKept(choice) {
    try {
        if (choice)
            localStorage.setItem("edition", choice);
        return localStorage.getItem("edition");
    } catch (refused) {
        return null;
    }
}

// The edition that the address asks for, or else the one that was chosen last.
function editionAsked() {
    return [location.search.slice(1), editionKept()].find(name => EDITIONS.includes(name))
        || FIRST;
}

// The heading of a section.
function headingOf(hash) {
    return document.querySelector(`[id="${hash.slice(1)}"] > :is(h1, h2, h3, h4)`);
}

// What the address leads to is unfolded.
function unfoldTarget() {
    const name = decodeURIComponent(location.hash.slice(1));
    const target = name && document.getElementById(name);
    if (!target)
        return;
    for (let box = target; box; box = box.parentElement)
        if (box.matches("details.fold, details.box"))
            box.open = true;
    if (headingOf(location.hash)?.offsetHeight === 0) // nothing but folds
        for (const fold of target.querySelectorAll(":scope > .fold"))
            fold.open = true;
    target.scrollIntoView();
}

// Folds what the edition leaves out. The links to other pages lead to the same
// edition.
function showEdition(edition) {
    for (const box of document.querySelectorAll("details:is(.fold, .box)"))
        box.open = edition === "full";
    for (const link of document.querySelectorAll("a[href*='.html']"))
        if (link.origin === location.origin && !link.pathname.endsWith("live.html"))
            link.search = edition === FIRST ? "" : edition;
    document.documentElement.dataset.edition = edition;
    for (const button of document.querySelectorAll(".editions button"))
        button.setAttribute("aria-pressed", button.value === edition);
    for (const link of document.querySelectorAll("nav.contents a[href^='#']"))
        link.parentElement.hidden = !headingOf(link.hash).offsetHeight;
}

// The buttons at the top of a page.
function addEditions() {
    const group = element("div", "editions");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Edition");
    for (const edition of EDITIONS) {
        const button = element("button", "", edition[0].toUpperCase() + edition.slice(1));
        button.type = "button";
        button.value = edition;
        button.addEventListener("click", () => {
            editionKept(edition);
            history.replaceState(null, "", `?${edition}${location.hash}`);
            showEdition(edition);
        });
        group.append(button);
    }
    document.querySelector("header nav").after(group);
    showEdition(editionAsked());
    unfoldTarget();
    window.addEventListener("hashchange", unfoldTarget);
}

// ------------------------------------------------------------- the panels

// A matrix of the live page in the text, which is loaded when its place comes near. Its
// height is that of the style sheet, so nothing moves.
function addPanels(base) {
    for (const place of document.querySelectorAll(".panel")) {
        const frame = element("iframe"), state = place.dataset.state;
        frame.title = "The same in the running model";
        frame.loading = "lazy";
        frame.src = `${base}live.html#${/\bpanel\b/.test(state) ? state : state + "&panel"}`;
        if (/\bpanel=map\b/.test(state)) // a picture stands there until this one answers
            window.addEventListener("message", ({ source }) => {
                if (source === frame.contentWindow)
                    place.classList.add("there");
            });
        else
            place.append(element("p", "", /tab=look/.test(state) ? "Try it: go a step on."
                : "Try it: click a number to see where it comes from, then change it."));
        place.append(frame);
    }
}

const BASE = document.currentScript.src.replace(/[^/]*$/, "");
document.documentElement.classList.add("scripted");
addSearch(BASE);
addEditions();
addPanels(BASE);
addContracts();
addBlanks();
followContents();
