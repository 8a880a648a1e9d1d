# Run one function of sdcMicro on a table, and print the processor seconds of a call, then figures of what it gave.
#
#   Rscript SdcMicroRun.R TABLE.csv JOB RUNS COLUMNS [OPTION ...]
#
# Columns are named with commas between them. The clock of R has steps of a millisecond, so a short call is repeated until a tenth
# of a second has passed: a measurement is the mean of these calls, and the best of RUNS measurements counts.

suppressMessages(library(sdcMicro))

processor <- function() sum(proc.time()[1:2])

measured <- function(call) {
  began <- processor()
  for (calls in seq_len(1000)) {
    call()
    spent <- processor() - began
    if (spent >= 0.1) break
  }
  spent / calls
}

quietly <- function(call) function() suppressWarnings(suppressMessages(call()))

coded <- function(table) as.data.frame(lapply(table, as.integer))

changed <- function(table, release) mean(as.matrix(table) != as.matrix(release))

spread <- function(table, release) {
  deviations <- apply(table, 2, sd)
  sum(sweep(as.matrix(table) - as.matrix(release), 2, deviations, "/")^2) / ((nrow(table) - 1) * ncol(table))
}

jobs <- list(
  noise = function(table, columns, options) {
    list(call = function() addNoise(table[, columns], noise = 100 * sqrt(as.numeric(options[1])), method = "additive"),
         figures = function(made) changed(table[, columns], made$xm))
  },
  microaggregation = function(table, columns, options) {
    list(call = function() microaggregation(table[, columns], method = "mdav", aggr = as.integer(options[1])),
         figures = function(made) c(100 * spread(table[, columns], made$mx), min(table(do.call(paste, made$mx)))))
  },
  rank_swapping = function(table, columns, options) {
    list(call = function() rankSwap(table[, columns], TopPercent = 0, BottomPercent = 0, P = as.numeric(options[1])),
         figures = function(made) changed(table[, columns], made))
  },
  pram = function(table, columns, options) {
    list(call = function() pram(table, variables = columns, pd = as.numeric(options[1])),
         figures = function(made) length(made))
  },
  special_uniques = function(table, columns, options) {
    keys <- coded(table[, columns])
    list(call = function() suda2(keys), figures = function(made) c(sum(made$score > 0), sum(made$score)))
  },
  suppression = function(table, columns, options) {
    keys <- table[, columns]
    list(call = function() kAnon(keys, keyVars = columns, k = as.integer(options[1])),
         figures = function(made) sum(made$totalSupps))
  },
  frequencies = function(table, columns, options) {
    keys <- table[, c(columns, options)]
    weight <- if (length(options)) options[1] else NULL
    list(call = function() { counts <- freqCalc(keys, columns, w = weight); list(counts, indivRisk(counts)) },
         figures = function(made) c(made[[1]]$n1, sum(made[[2]]$rk)))
  },
  recoding = function(table, columns, options) {
    keys <- coded(table[, columns])
    call <- function() { capture.output(made <- LocalRecProg(keys, categorical = columns, missingValue = -1L)); made }
    list(call = call, figures = function(made) sum(made[, paste0(columns, "_lr")] == -1L))
  },
  record_swapping = function(table, columns, options) {
    alike <- strsplit(options[1], ",")[[1]]
    risky <- strsplit(options[2], ",")[[1]]
    keys <- coded(table)
    call <- function() {
      recordSwap(keys, hid = "household", hierarchy = columns, similar = list(alike), risk_variables = risky,
                 k_anonymity = as.integer(options[3]), swaprate = as.numeric(options[4]), return_swapped_id = TRUE,
                 log_file_name = tempfile())
    }
    list(call = call, figures = function(made) length(unique(made$household[made$household != made$household_swapped])))
  },
  shuffling = function(table, columns, options) {
    model <- as.formula(paste(paste(columns, collapse = "+"), "~", gsub(",", "+", options[1])))
    list(call = function() shuffle(table, model, method = "ds", gadp = FALSE),
         figures = function(made) changed(table[, columns], made$shuffled))
  },
  disclosure = function(table, columns, options) {
    release <- read.csv(options[1])[, columns]
    list(call = function() dRisk(table[, columns], xm = release), figures = function(made) made)
  },
  utility = function(table, columns, options) {
    release <- read.csv(options[1])[, columns]
    call <- function() {
      vapply(c("IL1", "IL1s", "eigen"), function(method) dUtility(table[, columns], xm = release, method = method), 0)
    }
    list(call = call, figures = function(made) made)
  },
  loglinear = function(table, columns, options) {
    model <- as.formula(paste("~", paste(columns, collapse = "+")))
    list(call = function() modRisk(table, method = options[2], weights = options[1], formulaM = model),
         figures = function(made) c(made$gr1, made$gr2))
  }
)

given <- commandArgs(trailingOnly = TRUE)
table <- read.csv(given[1], stringsAsFactors = TRUE)
job <- jobs[[given[2]]](table, strsplit(given[4], ",")[[1]], given[-(1:4)])
call <- quietly(job$call)
figures <- job$figures(call())
seconds <- min(vapply(seq_len(as.integer(given[3])), function(run) measured(call), 0))
cat(format(seconds, digits = 15), format(figures, digits = 15, trim = TRUE, scientific = FALSE), "\n")
